"""The search: generations of sets, screened by successive halving, each made of the best so far.

Everything follows from the settings, the data and the prices of terms: what is drawn for a
generation depends on the seed and on what earlier ones have told, which doesn't depend on the
number of processes. A journal keeps each measurement, so a search that was killed goes on where it
was, and one that has ended goes on when it is given more hours. (Halving: Jamieson and Talwalkar,
AISTATS 2016.)
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab import artifacts, data, features
from nnuelab.data.journal import Journal
from nnuelab.data.parallel import cores, pool
from nnuelab.discovery.grammar import Grammar, Key, Terms, check_hours, key_of, terms_of, text_of
from nnuelab.discovery.history import Row, best_first
from nnuelab.discovery.prices import BASE, measured, own_share, together
from nnuelab.discovery.screen import Measured, Task, mean, measure, prepare, rows_of
from nnuelab.errors import UserError
from nnuelab.features import fingerprint
from nnuelab.progress import Progress
from nnuelab.settings.search import Searching

# Settings that change nothing of what was measured before the search ended.
OUTSIDE = ("hours", "generations", "play", "play_seeds")


@dataclass(frozen=True)
class Candidate:
    """A set that is to be screened: its number, text, and where it comes from."""

    number: int
    feature_set: str
    move: str
    parents: str = ""


class Search:
    """Measures sets, generation by generation.

    Parameters
    ----------
    settings : Searching
    train, validation : Path
        Datasets.
    journal : Path
        What was measured so far; kept, so that a longer search goes on from it.
    prices : Path
        What the terms cost, `prices.measured`: measured where there is no such file.
    workers : int
        Processes, one for each training at a time; 0: all cores. No more than a generation has
        trainings. Changes no result.

    Raises
    ------
    UserError
        Before any work: for blocks that make no set, an anchor that is none, hours that don't
        suffice for a generation, or too few positions; when terms are priced, for a max_cost that
        none of them keeps.
    """

    def __init__(
        self,
        settings: Searching,
        train: Path,
        validation: Path,
        journal: Path,
        prices: Path,
        workers: int = 0,
    ) -> None:
        self.settings, self.data, self.journal = settings, (train, validation), journal
        self.workers = min(workers or cores(), settings.population * settings.seeds)
        self.grammar = Grammar(settings)
        self.anchor = features.parse(settings.anchor).name
        self._seeds = range(1, settings.seeds + 1)
        check_hours(settings, min(settings.positions, len(data.open(train))), self.workers)
        anchor = tuple((term, "") for term in terms_of(self.anchor))
        self._sets: list[Terms] = [anchor]  # by number
        self._numbers: dict[Key, int] = {key_of(anchor): 0}
        self.screens = 0  # of sets that were trained
        self._seconds, self._own = 0.0, 0.0
        self._priced, self._prices = prices, dict[str, float]()
        self._known: dict[tuple[str, int, int], Measured] = {}

    @property
    def rate(self) -> float:
        """Screens per hour of CPU time, all of which the journal knows."""
        return 3600 * self.screens / max(self._seconds, 1e-9)

    def cost(self, feature_set: str) -> float:
        """Of a node, relative to the anchor's."""
        each, anchor = (together(s, self._prices, self._own) for s in (feature_set, self.anchor))
        return each / anchor

    def identity(self) -> dict[str, object]:
        """What the measurements depend on."""
        chosen = {k: v for k, v in asdict(self.settings).items() if k not in OUTSIDE}
        blocks = [*self.grammar.blocks, *filter(None, self.grammar.factors), self.anchor]
        return {
            **chosen,
            "data": [artifacts.sha256(path) for path in self.data],
            "blocks": {
                block: mark
                for name in blocks
                for block, mark in fingerprint.of_blocks(features.parse(name)).items()
            },
        }

    def generations(self) -> Iterator[list[Row]]:
        """All rows so far, after each generation, until the limits or no new set is found."""
        rows: list[Row] = []
        with (
            tempfile.TemporaryDirectory() as name,
            Journal(self.journal, self.identity()) as journal,
            Progress(None, "trainings", "search") as progress,
            pool(self.workers) as of_pool,
        ):
            prepare(Path(name), *self.data, self.settings)
            self._price(Path(name))
            for entry in (journal[i] for i in range(len(journal))):
                self._know(**entry)
            screened = partial(self._screened, Path(name), journal, progress, of_pool)
            generation = 0
            while proposed := self._proposed(generation, rows):
                for rung in range(self.settings.rungs):
                    found = screened(proposed, generation, rung)
                    rows += found
                    going_on = {row.number for row in self._best(found)}
                    proposed = [each for each in proposed if each.number in going_on]
                yield rows
                generation += 1
                over = self._seconds / self.workers >= self.settings.hours * 3600
                if over or generation == self.settings.generations:
                    return

    def _price(self, folder: Path) -> None:
        """Measures what terms cost, or takes what is there."""
        alone = [text_of(terms) for terms in self.grammar.alone(self.grammar.factors)]
        self._prices = measured(self._priced, [self.anchor, *alone], self.data[1], self.settings.l1)
        self._own = own_share(rows_of(BASE, folder), self.settings.l1)
        others = {self.cost(each): each for each in alone if each != self.anchor}
        if not others or min(others) > self.settings.max_cost:
            dear = f", of which {others[min(others)]} costs {min(others):.2f}" if others else ""
            raise UserError(
                "the terms make no set but the anchor that costs at most "
                f"{self.settings.max_cost:g}{dear}; give others, or a larger max_cost"
            )

    def _know(
        self, feature_set: str, rung: int, measured: dict[str, Any], seed: int | None = None
    ) -> None:
        """An entry of the journal; one without a seed, of an earlier version, is of all of them."""
        seeds = self._seeds if seed is None else [seed]
        found = Measured(**measured)
        for each in seeds:
            part = replace(found, seconds=found.seconds / len(seeds))
            self._known[feature_set, rung, each] = part

    def _known_of(self, feature_set: str, rung: int, seed: int) -> Measured | None:
        """What the journal has of a set, which other prices may have left untrained, or may now."""
        known = self._known.get((feature_set, rung, seed))
        if known and self.cost(feature_set) > self.settings.max_cost:
            return replace(known, loss=math.inf)
        return known if known and math.isfinite(known.loss) else None

    def _best(self, found: Sequence[Row]) -> list[Row]:
        """Who goes on: a share 1/eta, and the anchor, with which all are compared."""
        trained = [row for row in found if math.isfinite(row.loss)]
        kept = best_first(trained)[: math.ceil(len(found) / self.settings.eta)]
        return kept + [row for row in found if not row.number and row not in kept]

    def _proposed(self, generation: int, rows: Sequence[Row]) -> list[Candidate]:
        """The sets of a generation: the anchor and the blocks, then children of the best."""
        if generation == 0:
            first = [Candidate(0, self.anchor, "anchor")]
            for terms in self.grammar.first():
                if key_of(terms) not in self._numbers:
                    first.append(Candidate(self._number(terms), text_of(terms), "block"))
            return first
        rng = np.random.default_rng([self.settings.seed, generation])
        parents, best = self._parents(rows), self.settings.population
        found: list[Candidate] = []
        while len(found) < self.settings.population:
            child = self.grammar.child(rng, parents[:best], self._numbers)
            if child is None:
                if best >= len(parents):
                    break
                best *= 2  # the best have no new children any more; the next ones may
                continue
            terms, move, of = child
            told = " ".join(str(self._numbers[key_of(parent)]) for parent in of)
            found.append(Candidate(self._number(terms), text_of(terms), move, told))
        return found

    def _number(self, terms: Terms) -> int:
        """The number of a new set."""
        self._numbers[key_of(terms)] = len(self._sets)
        self._sets.append(terms)
        return len(self._sets) - 1

    def _parents(self, rows: Sequence[Row]) -> list[Terms]:
        """The sets of the longest screen, the best first."""
        longest = [row for row in rows if row.rung == self.settings.rungs - 1]
        best = [self._sets[row.number] for row in best_first(longest)]
        return [terms for terms in best if self.grammar.knows(terms)]

    def _screened(
        self,
        folder: Path,
        journal: Journal,
        progress: Progress,
        of_pool: Callable[..., Iterator[Measured]],
        proposed: Sequence[Candidate],
        generation: int,
        rung: int,
    ) -> list[Row]:
        """Rows of one screen, in the order of the sets; what the journal has isn't repeated."""
        asked = [(each, seed) for each in proposed for seed in self._seeds]
        found = {
            (each, seed): known
            for each, seed in asked
            if (known := self._known_of(each.feature_set, rung, seed))
        }
        progress.found(len(found))
        progress.advance(len(found))
        # The longest trainings first: fewer cores wait for the end of the generation.
        missing = [each for each in asked if each not in found]
        missing.sort(key=lambda each: -self.cost(each[0].feature_set))
        tasks = [
            Task(each.feature_set, rung, seed, folder, self.cost(each.feature_set), self.settings)
            for each, seed in missing
        ]
        for task, each, result in zip(tasks, missing, of_pool(measure, tasks), strict=True):
            journal.append(
                {
                    "feature_set": task.feature_set,
                    "rung": rung,
                    "seed": task.seed,
                    "measured": asdict(result),
                }
            )
            found[each] = result
            progress.advance(1, loss=f"{result.loss:.6f}")
        measured = [mean([found[each, seed] for seed in self._seeds]) for each in proposed]
        self._seconds += sum(each.seconds for each in measured)
        self.screens += sum(math.isfinite(each.loss) for each in measured)
        return [
            Row(
                each.number,
                generation,
                rung,
                each.feature_set,
                each.move,
                each.parents,
                result.n_features,
                result.rows,
                self.cost(each.feature_set),
                result.loss,
            )
            for each, result in zip(proposed, measured, strict=True)
        ]

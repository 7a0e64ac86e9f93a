"""The plan of an experiment, once made: its nets, how each is trained, and what it plays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nnuelab.names import NetName
from nnuelab.params.models import (
    Label,
    Puzzles,
    Quantize,
    Sample,
    Selfplay,
    Tournament,
    Train,
)

# First layers that l1: auto is found with, as shares of the anchor's, and how they are trained.
PROBED = (0.25, 0.5, 1, 2)
PROBE = {"epochs": 1, "games_share": 0.25, "fake_quantize_epochs": 0, "patience": 0, "from_": None}

# Games that come with the project, positions of them that nets train on, and of one of a net's own.
EMBEDDED_GAMES, EMBEDDED, KEPT = 8200, 763_000, 82


@dataclass(frozen=True)
class Entry:
    """A feature set as one variant trains it; with each seed it is a player.

    Attributes
    ----------
    name : NetName
        Without a seed.
    folder : str
        Below results/nets. Nets that are trained as the sections say are shared by all experiments.
    train : Train
    quantize : Quantize
    start : str or None
        The checkpoint that it begins with, ``{seed}`` in it; of the run's own nets behind
        ``<results>``.
    like : Entry or None
        The anchor whose cost of a node it gets by its first layer; ``l1`` of train is the anchor's
        until then. None: ``l1`` is what it says.
    rates : tuple of float
        What its learning rate is chosen from, by `trials`; empty: it is that of train.
    """

    name: NetName
    folder: str
    train: Train
    quantize: Quantize
    start: str | None
    like: Entry | None = None
    rates: tuple[float, ...] = ()

    @property
    def feature_set(self) -> str:
        """What it is trained with."""
        return self.name.feature_set

    @property
    def repeats_anchor(self) -> bool:
        """Whether it would be the anchor once more."""
        return self.like is not None and all(
            getattr(self, what) == getattr(self.like, what)
            for what in ("feature_set", "train", "quantize")
        )

    @property
    def probes(self) -> list[Entry]:
        """Nets of short trainings that the size is measured with: the anchor's, then its own."""
        if self.like is None:
            return []
        sizes = [max(round(self.like.train.l1 * share), 1) for share in PROBED]
        own = [self._probe(l1) for l1 in dict.fromkeys(sizes)]
        return [self.like._probe(self.like.train.l1), *own]

    @property
    def trials(self) -> list[Entry]:
        """Nets by whose validation losses the learning rate is chosen; they don't play."""
        return [
            self._other(f"rate-{rate:g}", self.start, learning_rate=rate) for rate in self.rates
        ]

    @property
    def finders(self) -> list[Entry]:
        """All nets that are trained before it, once each."""
        return [*self.probes, *self.trials]

    def _probe(self, l1: int) -> Entry:
        return self._other(f"probe-{l1}", None, l1=l1, **PROBE)

    def _other(self, what: str, start: str | None, **changed: Any) -> Entry:
        name = NetName(self.feature_set, f"{self.name.variant},{what}")
        return Entry(name, name.folder, self.train.model_copy(update=changed), self.quantize, start)


@dataclass(frozen=True)
class Plan:
    """An experiment with the settings that it shares with others filled in.

    ``groups`` are those of sets whose trainings scatter otherwise than most, by set; ``selfplay``
    is the section of the games that nets learn from, where they are the project's own making;
    ``is_labelled`` says that they learn from files of positions instead of games;
    ``expected`` are the positions of other games, where somebody knows. ``imported`` are the files
    of nets that were made elsewhere, by ``SET,NAME``.
    """

    entries: list[Entry]
    seeds: list[int]
    anchor: str
    tournament: Tournament
    groups: dict[str, str]
    selfplay: Selfplay | None
    sample: Sample
    label: Label
    puzzles: Puzzles
    is_labelled: bool = False
    expected: float | None = None
    imported: Mapping[str, str] = field(default_factory=dict)

    @property
    def games(self) -> float:
        """Games that nets learn from, about; of games of others as many as of the embedded ones."""
        made = self.selfplay
        if made:
            return made.generations * made.parts * made.games
        return self.expected / self._of_a_game if self.expected else EMBEDDED_GAMES

    @property
    def positions(self) -> float:
        """Positions that nets learn from, about."""
        return min(self.games * self._of_a_game, self.sample.max_positions or math.inf)

    @property
    def _of_a_game(self) -> float:
        return self.sample.per_game or (KEPT if self.selfplay else EMBEDDED / EMBEDDED_GAMES)

    @property
    def is_priced(self) -> bool:
        """Whether what a node costs has to be measured."""
        chosen = self.tournament
        return bool(chosen.cost_games_per_pairing) and chosen.costs is None

    @property
    def players(self) -> dict[str, str]:
        """Folder of the net of each player, ``NAME#SEED``, below results/nets."""
        names = map(NetName.parse, self.imported)
        made = {str(name.with_seed(1)): f"{name.folder}/1" for name in names}
        return {**self.trained, **made}

    @property
    def trained(self) -> dict[str, str]:
        """The same of those that it trains."""
        return {
            str(entry.name.with_seed(seed)): f"{entry.folder}/{seed}"
            for entry in self.entries
            for seed in self.seeds
        }

"""How well a screen foretells a full training: both, of sets that no search has chosen."""

from __future__ import annotations

import math
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from nnuelab import artifacts, features
from nnuelab.data.journal import Journal
from nnuelab.data.parallel import cores, ordered
from nnuelab.discovery.foretold import Foretold
from nnuelab.discovery.grammar import Grammar, Terms, terms_of, text_of
from nnuelab.discovery.screen import Task, measure, prepare
from nnuelab.errors import UserError
from nnuelab.features import fingerprint
from nnuelab.progress import Progress
from nnuelab.settings.search import Searching

EVERYTHING = 2**31  # positions: more than any dataset has


def drawn(settings: Searching, count: int) -> list[str]:
    """Different sums of the anchor and one to ``max_terms`` - 1 random terms.

    Within ``max_terms`` and ``max_features``: what a node of them costs isn't asked.

    Raises
    ------
    UserError
        When the blocks don't make so many.
    """
    grammar = Grammar(settings)
    first: Terms = tuple((term, "") for term in terms_of(settings.anchor))
    rng, found = np.random.default_rng([settings.seed, count]), dict[str, None]()
    others = [block for block in grammar.blocks if (block, "") not in first]
    most = min(settings.max_terms - len(first), len(others))
    for _ in range(1000 * count if most > 0 else 0):
        chosen = rng.choice(len(others), rng.integers(1, most + 1), replace=False)
        terms = (*first, *((others[i], "") for i in sorted(chosen.tolist())))
        if grammar.fits(terms):
            found[text_of(terms)] = None
        if len(found) == count:
            return list(found)
    raise UserError(
        f"these terms make {len(found)} sums of up to {settings.max_terms} with "
        f"{features.parse(settings.anchor).name}; give more terms, let sums have more, or ask for "
        "fewer sets"
    )


def trust(
    settings: Searching,
    train: Path,
    validation: Path,
    journal: Path,
    *,
    count: int,
    epochs: int,
    workers: int = 0,
) -> list[Foretold]:
    """Trains each set twice with each seed; what the journal has isn't repeated.

    Parameters
    ----------
    settings : Searching
        Of the screen. A full training has all positions and ``epochs``, and else the same.
    train, validation, journal : Path
        As in `Search`.
    count : int
        Sets.
    epochs : int
    workers : int, optional
        Processes; 0: all cores. Changes no result.
    """
    screen = replace(settings, rungs=1, max_cost=math.inf)
    full = replace(screen, positions=EVERYTHING, epochs=epochs)
    sets = drawn(settings, count)
    seeds = range(1, settings.seeds + 1)
    identity = {
        "settings": [asdict(replace(each, max_cost=0.0)) for each in (screen, full)],
        "data": [artifacts.sha256(path) for path in (train, validation)],
        "sets_code": [fingerprint.code(features.parse(name)) for name in sets],
        "trainings": 2 * count * len(seeds),
    }
    with (
        tempfile.TemporaryDirectory() as name,
        Journal(journal, identity) as entries,
        Progress(2 * count * len(seeds), "trainings", "trust", len(entries)) as progress,
    ):
        folders = [Path(name, which) for which in ("screen", "full")]
        for folder, asked in zip(folders, (screen, full), strict=True):
            folder.mkdir()
            prepare(folder, train, validation, asked)
        tasks = [
            Task(feature_set, 0, seed, folder, 1.0, asked)
            for feature_set in sets
            for folder, asked in zip(folders, (screen, full), strict=True)
            for seed in seeds
        ]
        losses = [float(entries[i]["loss"]) for i in range(len(entries))]
        for measured in ordered(measure, tasks[len(losses) :], workers or cores()):
            entries.append({"loss": measured.loss})
            losses.append(measured.loss)
            progress.advance(1)
    means = np.reshape(losses, (count, 2, len(seeds))).mean(axis=2)
    return [Foretold(name, *row) for name, row in zip(sets, means.tolist(), strict=True)]

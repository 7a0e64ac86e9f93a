"""The name of a net: its feature set, its variant and the seed that it was trained with."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

_SEED = re.compile(r"(.+)#(0|[1-9][0-9]{0,18})", re.DOTALL)
_IN_FOLDERS = str.maketrans("*()/", "x-@~")


@dataclass(frozen=True)
class NetName:
    """A net of an experiment; without a seed, all nets that differ by theirs alone.

    As text it is ``SET#SEED`` or ``SET,VARIANT#SEED``, in tournaments, tables and settings. Any
    text can be read, and comes out as it was: a player that is no net is a set of its own.

    Attributes
    ----------
    feature_set : str
        Canonical expression.
    variant : str
        Of an experiment that has some; commas may stand in it, too.
    seed : int or None

    Examples
    --------
    >>> NetName.parse("TOPK(512,pairs.csv),l1-64,l2-8#2")
    NetName(feature_set='TOPK(512,pairs.csv)', variant='l1-64,l2-8', seed=2)
    >>> NetName("ALL", "pqr", 1).folder
    'ALL,pqr/1'
    """

    feature_set: str
    variant: str = ""
    seed: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads a name, whose first comma outside of parentheses begins the variant."""
        found = _SEED.fullmatch(text)
        entry, seed = (found[1], int(found[2])) if found else (text, None)
        depth = 0
        for place, character in enumerate(entry):
            depth += (character == "(") - (character == ")")
            if character == "," and depth == 0 and entry[place + 1 :]:
                return cls(entry[:place], entry[place + 1 :], seed)
        return cls(entry, "", seed)

    @classmethod
    def of_folder(cls, folder: Path, feature_set: str) -> Self:
        """The name of a net by its `folder`, and by its feature set, as the net itself tells it."""
        own = cls(feature_set).folder + ","
        variant = folder.parent.name.removeprefix(own)
        return cls(
            feature_set,
            variant if variant != folder.parent.name else "",
            int(folder.name) if folder.name.isdecimal() else None,
        )

    def __str__(self) -> str:
        return self.entry if self.seed is None else f"{self.entry}#{self.seed}"

    @property
    def entry(self) -> str:
        """What a table has a row for: ``SET`` or ``SET,VARIANT``."""
        return f"{self.feature_set},{self.variant}" if self.variant else self.feature_set

    @property
    def folder(self) -> str:
        """Where it lies below results/nets: no shell takes it for anything else.

        >>> NetName("KING*ALL").folder, NetName("PHASE(4,KB(16))+H", seed=1).folder
        ('KINGxALL', 'PHASE-4,KB-16@@+H/1')
        >>> NetName("TOPK(9,lists/a.csv)", "l1-64").folder
        'TOPK-9,lists~a.csv,l1-64'
        """
        parts = (self.feature_set, self.variant) if self.variant else (self.feature_set,)
        folder = ",".join(part.translate(_IN_FOLDERS).rstrip("@") for part in parts)
        return folder if self.seed is None else f"{folder}/{self.seed}"

    def with_seed(self, seed: int) -> Self:
        """The net of one seed."""
        return replace(self, seed=seed)


def variant_of(changes: Mapping[str, Any]) -> str:
    """The variant that is a point of a grid.

    >>> variant_of({"l1": 64, "l2": 8})
    'l1-64,l2-8'
    """
    return ",".join(f"{key}-{value}" for key, value in changes.items())


def changes_of(variant: str) -> dict[str, str]:
    """Settings and values of a grid's point, as text; none of a variant with a name of its own.

    >>> changes_of("l1-64,l2-8"), changes_of("pqr")
    ({'l1': '64', 'l2': '8'}, {})
    """
    parts = [part.partition("-") for part in variant.split(",")]
    return {key: value for key, _, value in parts} if all(mark for _, mark, _ in parts) else {}


def shared(names: Collection[str]) -> tuple[str, str]:
    """What all nets of a table have in common and need not be told for each: a set and a variant.

    >>> shared(["ALL,l2-8,lr-0.1", "H,l2-9,lr-0.1"]), shared(["ALL,l2-8", "ALL,l2-9"])
    (('', 'lr-0.1'), ('ALL', ''))
    """
    known = [NetName.parse(name) for name in names]
    sets, variants = {name.feature_set for name in known}, {name.variant for name in known}
    if len(variants) < 2:
        return "", next(iter(variants), "")
    first, *others = (changes_of(name.variant) for name in known)
    common = {
        key: value
        for key, value in first.items()
        if all(other.get(key) == value for other in others)
    }
    variant = variant_of(common)
    # A set is told where nothing else would be.
    return sets.pop() if len(sets) == 1 and variant not in variants else "", variant


def labels(names: Collection[str]) -> dict[str, str]:
    """What to call each net of a table: what is `shared` is left out.

    >>> list(labels(["ALL,l2-8,lr-0.1", "H,l2-9,lr-0.1"]).values())
    ['ALL,l2-8', 'H,l2-9']
    >>> list(labels(["ALL,l2-8#1", "ALL,l2-9#1"]).values())
    ['l2-8#1', 'l2-9#1']
    """
    feature_set, variant = shared(names)
    found = {}
    for text in names:
        name = NetName.parse(text)
        own = without(name.variant, variant)
        told = own if feature_set else replace(name, variant=own).entry
        found[text] = told if name.seed is None else f"{told}#{name.seed}"
    return found


def in_full(names: Collection[str]) -> dict[str, str]:
    """What to call nets of several tables: only what all variants have in common is left out.

    >>> list(in_full(["ALL,l2-8,lr-0.1", "ALL,l2-9,lr-0.1"]).values())
    ['ALL,l2-8', 'ALL,l2-9']
    """
    variant = shared(names)[1]
    parsed = {text: NetName.parse(text) for text in names}
    return {t: str(replace(n, variant=without(n.variant, variant))) for t, n in parsed.items()}


def listed(names: Sequence[str]) -> str:
    """They as words: ``H, V and ALL``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def without(variant: str, common: str) -> str:
    """What a variant has beside one that is `shared`.

    >>> without("l2-8,lr-0.1", "lr-0.1"), without("pqr", "pqr"), without("pqr", "")
    ('l2-8', '', 'pqr')
    """
    if variant == common:
        return ""
    known = changes_of(common).items()
    own = dict(item for item in changes_of(variant).items() if item not in known)
    return variant_of(own) or variant

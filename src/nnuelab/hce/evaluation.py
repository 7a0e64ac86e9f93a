"""A hand-crafted evaluation: a named list of terms with weights, in a YAML file to read and edit.

::

    name: material and mobility
    phase: {knight: 1, bishop: 1, rook: 2, queen: 4}   # what pieces count; their sum is middlegame
    terms:
      material: {features: MEN, by: [ROLES], mg: [82, 337, 365, 477, 1025], eg: [94, ...]}
      bishop_pair: {features: BISHOP_PAIR, mg: 30, eg: 50}
      mobility: {features: REACH, by: [ROLES], mg: [4, 5, 2, 1], eg: 3}

The value for White is the sum of the weights of the features that White sees active, less that of
those that Black sees: an evaluation is the same for both by construction. ``by`` names the concepts
that weights are told apart by; features that differ in others share a weight, and with ``[]`` all
of them do, which counts them. Without ``by`` each feature has its own.

The two sums, middlegame and endgame, are put together by phase: (mg * p + eg * (24 - p)) / 24 with
p the count of pieces left, at most 24, as in Fruit and all its heirs; whole centipawns, towards 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from nnuelab import artifacts, files, yaml_text
from nnuelab.errors import UserError, nearest, one_line
from nnuelab.features import FeatureSet, Product, fingerprint, parse
from nnuelab.features.concepts import FILES, ROLE_NAMES, Concept

DEFAULT = Path(__file__).with_name("classical.yaml")
"""The evaluation that ships with the package."""
ENDINGS = (".yaml", ".yml")
LARGEST_WEIGHT = 20_000  # centipawns
PHASE = {"pawn": 0, "knight": 1, "bishop": 1, "rook": 2, "queen": 4, "king": 0}
"""What a piece of each role counts, as in Fruit: 24 is the starting position."""
FULL = 24
_KEYS = ("features", "by", "mirror", "mg", "eg")


@dataclass(frozen=True)
class Term:
    """Features whose weights stand together.

    Attributes
    ----------
    name : str
    features : FeatureSet
        As a player sees them.
    by : tuple of str or None
        Concepts that weights are told apart by; None: each feature has a weight.
    mirror : bool
        Files a to d share their weights with h to e.
    group : ndarray of int64 [features.size]
        The weight of each feature, numbered within the term.
    labels : tuple of str
        Of the weights: ``knight, 4``.
    """

    name: str
    features: FeatureSet
    by: tuple[str, ...] | None
    mirror: bool
    group: np.ndarray = field(repr=False, compare=False)
    labels: tuple[str, ...] = field(repr=False)

    @property
    def n_weights(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Evaluation:
    """Terms and their weights.

    Attributes
    ----------
    name : str
    terms : tuple of Term
    phase : ndarray of int64 [6]
        What a piece of each role counts.
    weights : ndarray of int64 [n_weights, 2]
        Middlegame and endgame, centipawns, of all terms one after the other.
    provenance : mapping
        Whatever the file says of its making.
    """

    name: str
    terms: tuple[Term, ...]
    phase: np.ndarray
    weights: np.ndarray
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_weights(self) -> int:
        return sum(term.n_weights for term in self.terms)

    @cached_property
    def starts(self) -> dict[str, int]:
        """Number of the first weight of each term."""
        ends = np.cumsum([0, *(term.n_weights for term in self.terms)])
        return dict(zip((term.name for term in self.terms), ends.tolist(), strict=False))

    @property
    def labels(self) -> list[str]:
        """A name for each weight: ``mobility[knight, 4]``."""
        return [
            f"{term.name}[{label}]" if label else term.name
            for term in self.terms
            for label in term.labels
        ]

    @cached_property
    def features(self) -> FeatureSet:
        """All features that any term reads, each product of blocks once."""
        products = dict.fromkeys(p for term in self.terms for p in term.features.terms)
        return FeatureSet(tuple(products))

    @cached_property
    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """The weights that each feature adds: int64[features.size + 1] starts, int64 weights.

        Those of feature f are ``weights[starts[f]:starts[f + 1]]``: a feature may be in several
        terms.
        """
        start_of = dict(zip(self.features.terms, self.features.offsets, strict=True))
        features, weights = [], []
        for term in self.terms:
            at = self.starts[term.name]
            for product, offset in zip(term.features.terms, term.features.offsets, strict=True):
                features.append(np.arange(product.size) + start_of[product])
                weights.append(term.group[offset : offset + product.size] + at)
        of, weight = np.concatenate(features), np.concatenate(weights)
        order = np.argsort(of, kind="stable")
        starts = np.searchsorted(of[order], np.arange(self.features.size + 1))
        return starts, weight[order]

    def with_weights(self, weights: np.ndarray, **provenance: Any) -> Evaluation:
        """The same terms with other weights, rounded to whole centipawns.

        Raises
        ------
        ValueError
            When their number is another one.
        """
        if weights.shape != self.weights.shape:
            raise ValueError(f"{weights.shape} weights for {self.weights.shape}")
        whole = np.clip(np.rint(weights), -LARGEST_WEIGHT, LARGEST_WEIGHT).astype(np.int64)
        return replace(self, weights=whole, provenance=provenance or self.provenance)

    def fingerprint(self) -> str:
        """A hash of terms, phases and blocks, not of the weights: what a trace belongs to."""
        import hashlib

        digest = hashlib.sha256(self.phase.tobytes())
        blocks = fingerprint.of_blocks(self.features)
        for term in self.terms:
            told = (term.name, term.features.name, term.by, term.mirror, term.labels)
            digest.update(repr(told).encode())
        digest.update(repr(sorted(blocks.items())).encode())
        return digest.hexdigest()[:16]


def read(path: Path | str) -> Evaluation:
    """The evaluation of a file.

    Raises
    ------
    UserError
        With the place of the mistake.
    """
    path = Path(path)
    try:
        content = yaml_text.load(files.content(path, files.SMALL))
    except FileNotFoundError:
        raise UserError(f"there is no evaluation {path}") from None
    except OSError as error:
        raise UserError(
            f"can't read {path}: {error.strerror}; name the file of an evaluation"
        ) from error
    except yaml.YAMLError as error:
        raise UserError(
            f"{path} is no YAML: {': '.join(filter(None, yaml_text.told(error)))}"
        ) from None
    try:
        return _evaluation(content, path.stem)
    except ValueError as error:
        raise UserError(f"{path}: {one_line(error)}") from None


def write(path: Path | str, evaluation: Evaluation) -> None:
    """Writes an evaluation as a file that :func:`read` takes."""
    content: dict[str, Any] = {"name": evaluation.name}
    content["phase"] = dict(zip(ROLE_NAMES, evaluation.phase.tolist(), strict=True))
    content["terms"] = {}
    for term in evaluation.terms:
        start = evaluation.starts[term.name]
        weights = evaluation.weights[start : start + term.n_weights]
        told: dict[str, Any] = {"features": term.features.name}
        if term.by is not None:
            told["by"] = list(term.by)
        if term.mirror:
            told["mirror"] = True
        for phase, column in zip(("mg", "eg"), weights.T.tolist(), strict=True):
            told[phase] = column if len(column) > 1 else column[0]
        content["terms"][term.name] = told
    if evaluation.provenance:
        content["provenance"] = dict(evaluation.provenance)
    with artifacts.atomic(path) as temporary:
        text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
        temporary.write_text(text)


def _evaluation(content: Any, default_name: str) -> Evaluation:
    if not isinstance(content, dict) or not isinstance(content.get("terms"), dict):
        raise ValueError("it needs a mapping `terms:` of names to terms")
    _check_keys("an evaluation", content, ("name", "phase", "terms", "provenance"))
    if not content["terms"]:
        raise ValueError("terms: name at least one")
    terms, weights = [], []
    for name, told in content["terms"].items():
        try:
            term = _term(str(name), told)
            weights.append(_weights(told, term))
        except (ValueError, UserError) as error:
            raise ValueError(f"term {name}: {one_line(error)}") from None
        terms.append(term)
    return Evaluation(
        str(content.get("name") or default_name),
        tuple(terms),
        _phase(content.get("phase")),
        np.concatenate(weights),
        content.get("provenance") or {},
    )


def _check_keys(what: str, told: Mapping[Any, Any], known: tuple[str, ...]) -> None:
    for key in told:
        if key not in known:
            raise ValueError(
                f"{what} has no {key!r}{nearest(str(key), known)}; it has {', '.join(known)}"
            )


def _phase(told: Any) -> np.ndarray:
    if told is None:
        told = PHASE
    if not isinstance(told, dict):
        raise ValueError("phase: it must be a mapping, such as {knight: 1, queen: 4}")
    _check_keys("phase", told, ROLE_NAMES)
    found = [told.get(role, 0) for role in ROLE_NAMES]
    if any(isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= FULL for n in found):
        raise ValueError(f"phase: {found} are no whole numbers of 0 to {FULL}")
    return np.array(found, np.int64)


def _term(name: str, told: Any) -> Term:
    if not isinstance(told, dict) or not isinstance(told.get("features"), str):
        raise ValueError("it needs features, such as {features: OWN, by: [ROLES], mg: 0, eg: 0}")
    _check_keys("a term", told, _KEYS)
    features = parse(told["features"])
    by, mirror = told.get("by"), told.get("mirror", False)
    if not isinstance(mirror, bool):
        raise ValueError(f"mirror: {mirror!r} is neither true nor false")
    if by is None and not mirror:
        labels = tuple(features.feature_name(i) for i in range(features.size))
        return Term(name, features, None, False, np.arange(features.size), labels)
    if by is not None and not (isinstance(by, list) and all(isinstance(c, str) for c in by)):
        raise ValueError("by: it must be a list of concepts, such as [ROLES, FILES]")
    if by == []:
        return Term(name, features, (), mirror, np.zeros(features.size, np.int64), ("",))
    if len(features.terms) > 1:
        raise ValueError(f"by: {features.name} is a sum; make a term of each of its parts")
    return _grouped(name, features, by, mirror)


def _grouped(name: str, features: FeatureSet, by: list[str] | None, mirror: bool) -> Term:
    """A term whose features share weights."""
    product: Product = features.terms[0]
    concepts = [concept for block in product.factors for concept in block.concepts]
    known = [concept.name for concept in concepts]
    if by is None:
        by = known
    for concept in by:
        if concept not in known:
            raise ValueError(
                f"by: {features.name} has no concept {concept}{nearest(concept, known)}; "
                f"it has {', '.join(known)}"
            )
    if not concepts or np.prod([c.size for c in concepts]) != features.size:
        raise ValueError(f"by: {features.name} isn't made of concepts; leave by out")
    kept = [i for i, concept in enumerate(concepts) if concept.name in by]
    values = np.unravel_index(np.arange(features.size), [c.size for c in concepts])
    labels = [_labels(concepts[i], mirror) for i in kept]
    shape = [len(names) for names in labels]
    columns = [_folded(concepts[i], values[i], mirror) for i in kept]
    group = np.ravel_multi_index(columns, shape)
    names = [
        ", ".join(label[i] for label, i in zip(labels, index, strict=True))
        for index in np.ndindex(*shape)
    ]
    # Ranks on which no pawn stands, say, have no weight of their own.
    used = np.flatnonzero(np.bincount(group[features.alive()], minlength=len(names)))
    renumber = np.zeros(len(names), np.int64)
    renumber[used] = np.arange(len(used))
    return Term(
        name, features, tuple(by), mirror, renumber[group], tuple(names[i] for i in used.tolist())
    )


def _labels(concept: Concept, mirror: bool) -> tuple[str, ...]:
    """Of the values that weights are told apart by."""
    if mirror and concept.name == FILES.name:
        return tuple(f"file {a}/{b}" for a, b in zip("abcd", "hgfe", strict=True))
    if mirror and concept.size == 64:
        return tuple(concept.values[8 * rank + file] for rank in range(8) for file in range(4))
    return concept.values


def _folded(concept: Concept, values: np.ndarray, mirror: bool) -> np.ndarray:
    """The same values, files e to h as d to a."""
    if mirror and concept.name == FILES.name:
        return np.minimum(values, 7 - values)
    if mirror and concept.size == 64:
        file = values % 8
        return values // 8 * 4 + np.minimum(file, 7 - file)
    return values


def _weights(told: Mapping[str, Any], term: Term) -> np.ndarray:
    """int64[n, 2]: what stands in the file; one number is that of all weights."""
    columns = []
    for phase in ("mg", "eg"):
        given = told.get(phase, 0)
        numbers = given if isinstance(given, list) else [given] * term.n_weights
        if len(numbers) != term.n_weights:
            raise ValueError(
                f"{phase} has {len(numbers)} weights, the term {term.n_weights}: "
                f"{', '.join(term.labels[:3])}..."
            )
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, int):
                raise ValueError(f"{phase}: {number!r} is no whole number of centipawns")
            if abs(number) > LARGEST_WEIGHT:
                raise ValueError(f"{phase}: {number} is beyond +-{LARGEST_WEIGHT}")
        columns.append(numbers)
    return np.array(columns, np.int64).T.reshape(-1, 2)

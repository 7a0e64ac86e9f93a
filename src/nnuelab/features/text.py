"""Feature-set expressions as text: ``ALL+H+V``, ``KING*ALL``, ``H*(V+D1)``, ``KB(16)``.

Names are read in any case. The parameters of a block stand behind its name, in parentheses and
separated by commas; what a parameter may be, its family says.
"""

from __future__ import annotations

import copyreg
import difflib
import re
from collections.abc import Callable, Mapping
from typing import Any

from nnuelab.errors import UserError, clipped, one_line
from nnuelab.features import registry
from nnuelab.features.algebra import Block, FeatureSet
from nnuelab.features.family import Given

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_HYPHENATED = re.compile(r"(-[A-Za-z0-9_]+)*")


class UnknownBlock(UserError):
    """An expression names a block that nobody defined; the message has the nearest name."""


def parse(text: str, files: Mapping[str, str] | None = None) -> FeatureSet:
    """The feature set that an expression stands for; names in any case, ``*`` before ``+``.

    Parameters
    ----------
    text : str
    files : dict, optional
        Contents that are taken for those of the files with these names, which need not be there:
        those that a net was made with.

    Raises
    ------
    UnknownBlock
        A name is not that of a block or an alias.
    UserError
        The text is not an expression, or not a valid feature set (see :class:`FeatureSet`).
    """
    try:
        return _Parser(text, files or {}).parse()
    except RecursionError:
        raise UserError(
            f"feature set {text[:40]!r}...: its parentheses are nested too deeply; leave some out"
        ) from None


def _as_text(features: FeatureSet) -> tuple[Callable[..., FeatureSet], tuple[Any, ...]]:
    return parse, (features.name, features.contents)


# A process gets a set as its text: blocks hold functions, which can't be pickled.
copyreg.pickle(FeatureSet, _as_text)


class _Parser:
    """Recursive descent over sum = product {"+" product}, product = atom {"*" atom}.

    A parameter that is an expression is parsed where it stands, between ``start`` and ``end``: what
    is wrong in it is told by its place in the whole text.
    """

    def __init__(
        self, text: str, files: Mapping[str, str], start: int = 0, end: int | None = None
    ) -> None:
        self.text = text.rstrip()
        self.files = files
        self.position = start
        self.end = len(self.text) if end is None else end

    @property
    def told(self) -> str:
        """What messages begin with."""
        return f"feature set '{clipped(self.text)}'"

    def error(self, message: str, position: int) -> UserError:
        return UserError(
            f"{self.told}: {message} at column {position + 1}; "
            "write blocks joined by + and *, like ALL+H+V"
        )

    @property
    def character(self) -> str:
        """The next one that is no space, "" at the end."""
        while self.position < self.end and self.text[self.position].isspace():
            self.position += 1
        return self.text[self.position] if self.position < self.end else ""

    def take(self, character: str) -> bool:
        found = self.character == character
        self.position += found
        return found

    def parse(self) -> FeatureSet:
        expression = self.sum()
        if self.character:
            raise self.unexpected()
        return expression

    def unexpected(self) -> UserError:
        name = _NAME.match(self.text, self.position, self.end)
        return self.error(f"unexpected {name[0] if name else self.character!r}", self.position)

    def sum(self) -> FeatureSet:
        expression = self.product()
        while self.take("+"):
            expression = expression + self.product()
        return expression

    def product(self) -> FeatureSet:
        expression = self.atom()
        while self.take("*"):
            expression = expression * self.atom()
        return expression

    def atom(self) -> FeatureSet:
        if self.take("("):
            expression = self.sum()
            if not self.take(")"):
                raise self.error("a closing parenthesis is missing", self.position)
            return expression
        found = self.character
        name = _NAME.match(self.text, self.position, self.end)
        if name is None:
            if found and found not in "+*)":
                raise self.unexpected()
            behind = self.text[self.position : self.position + 1]  # of the whole, for a parameter
            raise self.error(
                f"a block is missing before {repr(behind) if behind else 'the end'}", self.position
            )
        self.position = name.end()
        return FeatureSet.of(self.block(name[0]))

    def block(self, name: str) -> Block:
        known = registry.load()
        # Names have no hyphen, but some write HALF-KP: the nearest is sought for the whole word.
        rest = _HYPHENATED.match(self.text, self.position, self.end)
        name += rest[0] if rest else ""
        if name.upper() not in known:
            nearest = difflib.get_close_matches(name.upper(), known, n=1, cutoff=0.0)[0]
            raise UnknownBlock(
                f"{self.told}: there is no block '{clipped(name)}'; did you mean {nearest}? "
                "(`nnuelab features list` prints all; those of a file of your own: --blocks FILE)"
            )
        found = known[name.upper()]
        start = self.position
        if isinstance(found, Block):
            if self.take("("):
                raise self.error(f"{found.name} has no parameters, unexpected '('", start)
            return found
        given = self.parameters() if self.take("(") else []
        try:
            return found.block(given)
        except ValueError as error:
            raise UserError(f"{self.told}: {found.usage}: {one_line(error)}") from error

    def parameters(self) -> list[Given]:
        """What stands between the parentheses, which may hold parentheses themselves."""
        start, depth = self.position, 1
        commas = []
        while depth:
            if self.position >= self.end:
                raise self.error("a closing parenthesis is missing", self.position)
            character = self.text[self.position]
            depth += (character == "(") - (character == ")")
            if character == "," and depth == 1:
                commas.append(self.position)
            self.position += 1
        ends = [*commas, self.position - 1]
        starts = [start, *(comma + 1 for comma in commas)]
        return [self.given(a, b) for a, b in zip(starts, ends, strict=True)]

    def given(self, start: int, end: int) -> Given:
        inner = _Parser(self.text, self.files, start, end)
        return Given(self.text[start:end].strip(), self.files, inner.parse)

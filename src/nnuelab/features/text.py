"""Feature-set expressions as text: ``ALL+H+V``, ``KING*ALL``, ``H*(V+D1)``, in any case."""

from __future__ import annotations

import difflib
import re

from nnuelab.errors import UserError
from nnuelab.features import registry
from nnuelab.features.algebra import FeatureSet

_TOKEN = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*|[+*()])")


class UnknownBlock(UserError):
    """An expression names a block that nobody defined; the message has the nearest name."""


def parse(text: str) -> FeatureSet:
    """The feature set that an expression stands for; names in any case, ``*`` before ``+``.

    Raises
    ------
    UnknownBlock
        A name is not that of a block or an alias.
    UserError
        The text is not an expression, or not a valid feature set (see :class:`FeatureSet`).
    """
    return _Parser(text).parse()


class _Parser:
    """Recursive descent over sum = product {"+" product}, product = atom {"*" atom}."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, int]] = []  # each with its column, from 1
        position = 0
        end = len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                column = position + len(text[position:]) - len(text[position:].lstrip()) + 1
                raise self.error(f"unexpected {text[column - 1]!r}", column)
            self.tokens.append((match[1], match.start(1) + 1))
            position = match.end()
        self.tokens.append(("", end + 1))
        self.next = 0

    def error(self, message: str, column: int) -> UserError:
        return UserError(
            f"feature set {self.text!r}: {message} at column {column}; "
            "write blocks joined by + and *, like ALL+H+V"
        )

    def take(self, token: str) -> bool:
        found = self.tokens[self.next][0] == token
        self.next += found
        return found

    def parse(self) -> FeatureSet:
        expression = self.sum()
        token, column = self.tokens[self.next]
        if token:
            raise self.error(f"unexpected {token!r}", column)
        return expression

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
        token, column = self.tokens[self.next]
        if self.take("("):
            expression = self.sum()
            if not self.take(")"):
                raise self.error("a closing parenthesis is missing", self.tokens[self.next][1])
            return expression
        if not token[:1].isalpha():
            found = repr(token) if token else "the end"
            raise self.error(f"a block is missing before {found}", column)
        self.next += 1
        return self.block(token)

    def block(self, name: str) -> FeatureSet:
        blocks = registry.load()
        if name.upper() in blocks:
            return FeatureSet.of(blocks[name.upper()])
        nearest = difflib.get_close_matches(name.upper(), blocks, n=1, cutoff=0.0)[0]
        known = ", ".join(dict.fromkeys(block.name for block in blocks.values()))
        raise UnknownBlock(
            f"feature set {self.text!r}: there is no block {name!r}; did you mean {nearest}? "
            f"(blocks: {known})"
        )

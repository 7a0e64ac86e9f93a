"""Families of blocks: a name with parameters, ``KB(16)``, and the function that makes the block."""

from __future__ import annotations

import dataclasses
import inspect
import posixpath
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nnuelab import files
from nnuelab.errors import UserError, raised
from nnuelab.features.algebra import Block, FeatureSet, check_definition, definition_of

_PATH = re.compile(r"[A-Za-z0-9._/-]+")


@dataclass(frozen=True)
class Given:
    """What stands in an expression for a parameter.

    Attributes
    ----------
    text : str
    files : dict
        Contents that are taken for those of the files with these names.
    parse : function
        Takes nothing; returns the feature set that the text is.
    """

    text: str
    files: Mapping[str, str]
    parse: Callable[[], FeatureSet]


@dataclass(frozen=True)
class Parameter(ABC):
    """A parameter of a family.

    Attributes
    ----------
    name : str
        As it stands in ``KB(n)``.
    """

    name: str

    @abstractmethod
    def read(self, given: Given) -> Any:
        """The value that a text stands for: hashable, equal for equal parameters.

        Raises
        ------
        ValueError
            With what is wrong and what is possible.
        """

    def text(self, value: Any) -> str:
        """The value in canonical form."""
        return str(value)


@dataclass(frozen=True)
class Number(Parameter):
    """A whole number out of a range."""

    choices: range | tuple[int, ...]

    def read(self, given: Given) -> int:
        text = given.text
        if not text.isascii() or not text.isdigit() or int(text) not in self.choices:
            raise ValueError(f"{self.name} is {text!r}, should be {self._possible()}")
        return int(text)

    def _possible(self) -> str:
        if isinstance(self.choices, range):
            return f"{self.choices[0]:,} to {self.choices[-1]:,}"
        return f"one of {', '.join(map(str, self.choices))}"


@dataclass(frozen=True)
class Word(Parameter):
    """One of some words, in any case."""

    choices: tuple[str, ...]

    def read(self, given: Given) -> str:
        if given.text.upper() not in self.choices:
            possible = ", ".join(self.choices)
            raise ValueError(f"{self.name} is {given.text!r}, should be one of {possible}")
        return given.text.upper()


@dataclass(frozen=True)
class Expression(Parameter):
    """A feature set."""

    def read(self, given: Given) -> FeatureSet:
        return given.parse()


@dataclass(frozen=True)
class Listing:
    """A data file: the path that was given, its text, and where it was read from, if it was."""

    path: str
    content: str = field(repr=False)
    place: Path | None = None

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True)
class File(Parameter):
    """A text file, by its path; its content is part of the block.

    Expressions are parts of paths, command lines and PGN tags: so not every path can be in one.
    """

    def read(self, given: Given) -> Listing:
        if not _PATH.fullmatch(given.text):
            raise ValueError(
                f"{self.name} is {given.text!r}, should be a path of letters, digits and . _ - /"
            )
        text = posixpath.normpath(given.text)
        if text in given.files:
            return Listing(text, given.files[text])
        try:
            return Listing(text, files.content(text, files.SMALL).decode(), Path(text).resolve())
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not a text file"
            raise ValueError(f"can't read the {self.name} {text}: {reason}") from error


@dataclass(frozen=True, eq=False)
class Family:
    """Blocks of one name, told apart by parameters; the same parameters give the same block.

    Attributes
    ----------
    name : str
    parameters : tuple of Parameter
    definition : str
        One sentence: when a feature is active.
    file : Path
        Where the family is defined.
    examples : tuple of str
        Expressions that the tests try.
    """

    name: str
    parameters: tuple[Parameter, ...]
    definition: str
    file: Path
    examples: tuple[str, ...]
    make: Callable[..., Block] = field(repr=False)
    aliases: tuple[str, ...] = ()
    _made: dict[tuple[Any, ...], Block] = field(default_factory=dict, repr=False)

    @property
    def usage(self) -> str:
        """``KB(n)``."""
        return f"{self.name}({', '.join(parameter.name for parameter in self.parameters)})"

    def block(self, given: list[Given]) -> Block:
        """The block with these parameters.

        Raises
        ------
        ValueError
            When they are too many, too few or not possible.
        UserError
            When the function that makes the block fails.
        """
        if len(given) != len(self.parameters):
            raise ValueError(f"{len(given)} parameters are given; write {self.usage}")
        values = tuple(
            parameter.read(one) for parameter, one in zip(self.parameters, given, strict=True)
        )
        if values not in self._made:
            shown = ",".join(p.text(v) for p, v in zip(self.parameters, values, strict=True))
            name = f"{self.name}({shown})"
            self._made[values] = dataclasses.replace(
                self._call(name, values),
                name=name,
                definition=self.definition,
                file=self.file,
            )
        return self._made[values]

    def _call(self, name: str, values: tuple[Any, ...]) -> Block:
        try:
            made = self.make(*values)
        except (UserError, ValueError):
            raise
        except Exception as error:
            raise UserError(
                f"{self.file}: {name}: {self.make.__name__} fails: {raised(error, self.make)}"
            ) from error
        if not isinstance(made, Block):
            raise UserError(f"{self.file}: {name}: {self.make.__name__} returns no block: {made!r}")
        return made


def family(
    name: str, *parameters: Parameter, examples: tuple[str, ...], aliases: tuple[str, ...] = ()
) -> Callable[[Callable[..., Block]], Family]:
    """Makes a family of a function that takes the parameters' values and returns a block.

    Its name and definition are those of the family; the function's docstring is the definition that
    ``nnuelab features list`` shows.

    >>> @family("NEAR", Number("n", range(1, 8)), examples=("NEAR(2)",))
    ... def near(n):
    ...     \"\"\"A piece of role r and colour c stands at most n squares from the own king.\"\"\"
    ...     return king_piece("NEAR", ROLES, COLORS)(lambda king, square, role, color: ...)

    Raises
    ------
    UserError
        When the name is malformed.
    """

    def make(function: Callable[..., Block]) -> Family:
        file = Path(inspect.getfile(function))
        check_definition(file, name, *aliases)
        if not parameters:
            raise UserError(f"{file}: family {name}: name at least one parameter")
        return Family(name, parameters, definition_of(function), file, examples, function, aliases)

    return make

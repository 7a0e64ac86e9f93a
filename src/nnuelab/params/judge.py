"""Games of an experiment that another engine plays: which one, and the file that it loads."""

from __future__ import annotations

import os
import re
import shlex
from typing import Annotated, Self

from pydantic import Field, model_validator

from nnuelab.errors import UserError
from nnuelab.params.sections import OptionName, OptionValue, section
from nnuelab.settings import judge
from nnuelab.tournament.players import program_of
from nnuelab.tournament.words import Runner

Options = dict[OptionName, OptionValue]
AS_IT_IS = ".nnue"  # without a command; other endings are converted


class Judging(section(judge.Judge, net_option=OptionName, engine_options=Options)):  # type: ignore[misc]
    __doc__ = judge.Judge.__doc__

    net_file: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*\.(nnue|nn|bin)$")]
    """What it loads: a .nnue is the net itself, a .nn or .bin is converted from it."""
    net_command: str | None
    """Makes that file in their place: ./tomine {net} {file}."""
    runner: Runner
    """Tournament manager: own, or one that is installed."""

    @model_validator(mode="after")
    def _has_an_engine_and_its_file(self) -> Self:
        try:
            _ = self.program
        except UserError as error:
            raise ValueError(f"engine: {error}") from None
        words = self.made_by("{net}", "{file}")
        for what in ("{net}", "{file}"):
            if not any(what in word for word in words):
                raise ValueError(f"net_command needs {what}, as in ./tomine {{net}} {{file}}")
        return self

    @property
    def unused(self) -> set[str]:
        """Those of these settings that say nothing; older designs were fixed without them."""
        found = set(Judging.model_fields) if self.engine is None else set()
        return found - {"runner"} if self.runner != Runner.OWN else found

    @property
    def loads_nets(self) -> bool:
        """Whether its engine loads nets as they are."""
        return self.net_command is None and self.net_file.endswith(AS_IT_IS)

    @property
    def program(self) -> str | None:
        """The engine, where it is given by its path."""
        found = "" if self.engine is None else str(program_of(self.engine)["engine"])
        return found if os.path.dirname(found) else None

    def made_by(self, net: str, file: str) -> list[str]:
        """The words of the command that makes the file of a net."""
        if self.net_command is None:
            return ["nnuelab", "net", "convert", net, file]
        try:
            words = shlex.split(self.net_command)
        except ValueError as error:
            raise ValueError(f"net_command: {error}") from None
        made = {"net": net, "file": file}
        return [re.sub(r"\{(net|file)\}", lambda found: made[found[1]], word) for word in words]

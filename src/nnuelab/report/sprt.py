"""The table of sequential tests that ended matches, by what is recorded beside their games."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import pydantic

from nnuelab.errors import UserError
from nnuelab.report.reading import read_record
from nnuelab.tournament.sprt import Sprt, Tally
from nnuelab.tournament.words import Model

RESULT = ("llr", "lower", "upper", "verdict", "games", "counts", "elo", "error")
COLUMNS = ("player", "opponent", "elo0", "elo1", "model", *RESULT)


class _Test(pydantic.BaseModel):
    elo0: float
    elo1: float
    alpha: float
    beta: float
    model: Model
    counts: list[pydantic.NonNegativeInt] = pydantic.Field(min_length=5, max_length=5)
    verdict: Literal["elo0", "elo1"] | None


class _Summary(pydantic.BaseModel):
    sprt: _Test
    players: dict[str, Any] = pydantic.Field(min_length=2, max_length=2)


def result(test: Sprt, tally: Tally, verdict: str | None) -> list[str]:
    """What a test says of a tally, in the order of RESULT; Elo is logistic, with a 95 % error."""
    numbers = [f"{value:.2f}" for value in (test.llr(tally), *test.bounds)]
    elo = [f"{value:.1f}" for value in tally.elo()]
    return [*numbers, verdict or "", str(tally.games), " ".join(map(str, tally.counts)), *elo]


def row(pgn: Path) -> list[str]:
    """The test of a match, in the order of COLUMNS.

    Raises
    ------
    UserError
        When the record beside the games is missing or damaged, or that of games without a test.
    """
    path = pgn.with_name(f"{pgn.name}.json")
    summary = read_record(path).get("summary")
    try:
        told = _Summary.model_validate(summary)
        asked = told.sprt.model_dump(exclude={"counts", "verdict"})
        test, tally = Sprt(**asked), Tally(told.sprt.counts)
    except pydantic.ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"])) or "summary"
        raise _refused(path, place) from None
    except UserError as error:
        raise _refused(path, str(error)) from None
    hypotheses = [f"{test.elo0:g}", f"{test.elo1:g}", str(test.model)]
    return [*told.players, *hypotheses, *result(test, tally, told.sprt.verdict)]


def _refused(path: Path, reason: str) -> UserError:
    return UserError(
        f"{path} tells of no sequential test ({reason}); play with `nnuelab tournament --sprt`"
    )


def to_csv(rows: Iterable[list[str]]) -> str:
    """A table with the header COLUMNS."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    return text.getvalue()

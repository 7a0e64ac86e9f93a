"""The table of an experiment for reading: as Markdown, and on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nnuelab import names
from nnuelab.report.table import Row, cells, entry, labels, relative
from nnuelab.tournament.yardsticks import COST, DEEP, DEEP_COST, TIME

PUBLISHED_NOTE = (
    "Published: the study's own, of nets 512/32 that played at a fixed time per move, where the "
    "speed of a set counts, too: to be compared with ours at equal cost or at fixed time, not with "
    "that at fixed nodes. Its data were others. So neither its Elo nor its losses are the same "
    "quantity as ours. "
    "(Its baseline stands beside our nets of the same size; Elo 0 is the mean of its nets there.)"
)

ERRORS_NOTE = (
    "\u00b1 behind Elo is half the 95 % interval if nets of the same sets were trained and played "
    "again; \u00b1 games if these very nets played again; \u00b1 seeds as the first, but as far as "
    "these few trainings alone tell it. p adjusted: the chance of so large a difference somewhere "
    "among all sets of the table if none differed from the anchor."
)


def to_markdown(experiment: str, rows: Sequence[Row], anchor: str, deep: int = 0) -> str:
    """The same numbers for reading: errors behind their values, empty columns left out.

    ``deep``: see `Yardstick.at`.
    """
    text = [cells(row) for row in rows]
    head, body = head_and_lines(text, deep)
    lines = [
        f"# Experiment {experiment}",
        "",
        "| " + " | ".join(head) + " |",
        "|---" + "|--:" * (len(head) - 1) + "|",
        *("| " + " | ".join(line).replace("*", "\\*") + " |" for line in body),
        "",
        f"Elo: at fixed nodes per move{_and_others(text, deep)}, {relative(text, anchor)}; in "
        f"Ordo's points (x 0.9913 = logistic Elo). {ERRORS_NOTE} "
        "Validation loss: mean \u00b1 standard deviation over the seeds"
        f"{_other_losses(text)}. Puzzles: share of right moves. Quantization: integer less float "
        "evaluation.",
        *(["", PUBLISHED_NOTE] if has_published(text) else []),
    ]
    return "\n".join(lines) + "\n"


def notes(table: Sequence[Mapping[str, str]]) -> str:
    """What has to be known to read rows of text."""
    return f"{ERRORS_NOTE} {PUBLISHED_NOTE}" if has_published(table) else ERRORS_NOTE


def _and_others(table: Sequence[Mapping[str, str]], deep: int) -> str:
    """The other yardsticks that rows of text have an Elo of, each with what it tells."""
    meanings = {
        COST: "at equal cost (what it knows per second: nodes divided by the cost of one)",
        DEEP: f"at {DEEP.at(deep)}",
        TIME: "at fixed time (a check of equal cost, on the clock of this machine)",
    }
    told = [
        meaning for kind, meaning in meanings.items() if any(row.get(kind.column) for row in table)
    ]
    return "; ".join([" (what a set knows)", *told]) if told else ""


def _other_losses(table: Sequence[Mapping[str, str]]) -> str:
    """Said where a variant has none."""
    missing = any(not row["val_loss_mean"] for row in table)
    return " (none where another loss was minimised)" if missing else ""


def has_published(table: Sequence[Mapping[str, str]]) -> bool:
    """Whether the study's numbers stand in rows of text."""
    return any(row["published_elo"] for row in table)


def _columns(deep: int) -> tuple[tuple[str, str, str | None, bool], ...]:
    """Title, value, what stands behind it as its error, and whether a terminal has room for it."""
    return (
        ("feature set", "feature_set", None, True),
        ("variant", "variant", None, True),
        ("features", "n_features", None, True),
        ("L1", "l1", None, False),
        ("L2", "l2", None, False),
        ("seeds", "seeds", None, True),
        ("validation loss", "val_loss_mean", "val_loss_sd", True),
        ("Elo", "elo", "elo_error", True),
        ("p adjusted", "p_adjusted", None, True),
        ("\u00b1 games", "elo_error_games", None, True),
        ("\u00b1 seeds", "elo_error_seeds", None, False),
        ("cost of a node", "cost_ratio", None, True),
        ("Elo at equal cost", COST.column, f"{COST.column}_error", True),
        ("p adjusted, equal cost", COST.p, None, True),
        (f"Elo at {DEEP.at(deep)}", DEEP.column, f"{DEEP.column}_error", True),
        (f"Elo at {DEEP_COST.at(deep)}", DEEP_COST.column, f"{DEEP_COST.column}_error", True),
        ("Elo at fixed time", "elo_time", "elo_time_error", True),
        ("p adjusted, fixed time", TIME.p, None, False),
        ("\u00b1 games, fixed time", "elo_time_error_games", None, True),
        ("\u00b1 seeds, fixed time", "elo_time_error_seeds", None, False),
        ("nodes/s ratio", "nps_ratio", None, False),
        ("puzzles", "puzzle_accuracy", None, True),
        ("quantization mean cp", "quant_mean_cp", None, False),
        ("rms cp", "quant_rms_cp", None, True),
        ("max cp", "quant_max_cp", None, False),
        ("active", "active", None, False),
        ("added", "added", None, False),
        ("removed", "removed", None, False),
        ("training s", "train_seconds", None, False),
        ("published loss", "published_val_loss", None, False),
        ("published Elo", "published_elo", None, True),
    )


def head_and_lines(
    table: Sequence[Mapping[str, str]], deep: int = 0, *, narrow: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Head and lines of a table for people, from rows as `table.cells` or a CSV reader give them.

    What all rows have in common is left out: `table.relative` tells it. ``narrow`` leaves out what
    is for reference only; a variant stands beside its set, since a terminal repeats the first
    column alone. ``deep``: see `Yardstick.at`.
    """
    called, (one_set, common) = labels(table), names.shared([entry(row) for row in table])
    if narrow:
        table = [{**row, "feature_set": called[entry(row)], "variant": ""} for row in table]
    else:
        table = [{**row, "variant": names.without(row.get("variant", ""), common)} for row in table]
    shown = [
        (title, name, error)
        for title, name, error, needed in _columns(deep)
        if any(row.get(name) for row in table) and (needed or not narrow)
    ]
    body = [[_cell(row, name, error) for _, name, error in shown] for row in table]
    head = [title for title, _, _ in shown]
    return ["variant", *head[1:]] if narrow and one_set else head, body


def _cell(row: Mapping[str, str], name: str, error: str | None) -> str:
    if row[name] == "0.0000" and name.startswith("p_"):
        return "< 0.0001"
    return (
        f"{row[name]} \u00b1 {row[error]}" if error and row[name] and row.get(error) else row[name]
    )

"""Tables and figures for a paper: booktabs and CSV, vector PDF of one column's width.

The same results give the same bytes: no file has a date, see `charts.pdf`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nnuelab import artifacts
from nnuelab.charts import Figure, pdf
from nnuelab.errors import UserError
from nnuelab.report import grids, net_plots, plots, table
from nnuelab.report.results import Experiment, Results
from nnuelab.report.section import readable, told
from nnuelab.report.table import labels
from nnuelab.tournament import yardsticks

# What answers the question; a column that is empty in a table is left out.
COLUMNS = (
    *("elo", "elo_error", "elo_cost", "elo_cost_error", "cost_ratio"),
    *("val_loss_mean", "val_loss_sd", "quant_rms_cp", "quant_max_cp"),
)
_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"},
    **{"\u00b1": "$\\pm$", "\u00d7": "$\\times$", "\u00a0": "~", "<": "$<$", ">": "$>$"},
}
# pdfTeX takes figures up to PDF 1.5, and one with a group a page, unless told otherwise.
_HEAD = r"""\ifdefined\pdfminorversion\pdfminorversion=7 \pdfsuppresswarningpagegroup=1 \fi
\documentclass[twocolumn]{article}
\usepackage[T1]{fontenc}
\usepackage{booktabs,graphicx}
\begin{document}
"""


def make(found: Results, folder: Path) -> dict[str, str]:
    """Writes the tables and figures of all experiments, and ``paper.tex``, which includes them.

    Returns the SHA-256 of each file by its path.

    Raises
    ------
    UserError
        When a part of an experiment is damaged or missing.
    """
    texts: dict[str, str] = {}
    body = []
    for experiment in (e for e in found.experiments if e.rows):
        name = experiment.name
        lines, printed = _table(experiment)
        texts[f"{name}_table.csv"] = _csv(lines)
        texts[f"{name}_table.tex"] = latex(printed)
        relative = table.relative(experiment.rows, experiment.anchor)
        caption = f"{name}: Elo {relative}, with 95\u00a0% intervals"
        body.append(
            _float("table*", caption, rf"\resizebox{{\textwidth}}{{!}}{{\input{{{name}_table}}}}")
        )
        for drawn in figures(found, experiment):
            stem = f"{name}_{drawn.name}"
            with artifacts.atomic(folder / f"{stem}.pdf") as temporary:
                temporary.write_bytes(pdf(drawn))
            texts[f"{stem}.csv"] = _csv(_data(drawn.spec))
            picture = rf"\includegraphics[width=\columnwidth]{{{stem}.pdf}}"
            body.append(_float("figure", f"{name}: {drawn.title}. {drawn.caption}", picture))
        body.append("\\clearpage\n")  # LaTeX holds few figures back
    texts["paper.tex"] = f"{_HEAD}{''.join(body)}\\end{{document}}\n"
    for file, text in texts.items():
        with artifacts.atomic(folder / file) as temporary:
            temporary.write_text(text)
    pictures = [Path(name).with_suffix(".pdf").name for name in texts if name.endswith(".csv")]
    names = [*texts, *(name for name in pictures if (folder / name).is_file())]
    return {(folder / name).as_posix(): artifacts.sha256(folder / name) for name in names}


def figures(found: Results, experiment: Experiment) -> list[Figure]:
    """Intervals, Elo against nodes and cost, learning curves and verification, as far as known."""
    rows, nets, problems = experiment.rows, experiment.nets, list[str]()
    sets = [table.entry(row) for row in rows]
    cheapness = {table.entry(r): 1 / float(r["cost_ratio"]) for r in rows if r.get("cost_ratio")}
    axis = "nodes for the cost of one of the anchor's"
    drawn: list[Figure | None] = []
    with told(problems, f"a figure of {experiment.name}"):
        errors = found.price_errors(experiment)
        trained = readable(readable(nets, "history", problems), "objective", problems)
        drawn = [
            plots.elo(rows, experiment.anchor, experiment.nodes[1], experiment.hypothesis),
            plots.depth(rows, experiment.nodes),
            *(
                plots.pareto(rows, cheapness, axis, yardstick, errors)
                for yardstick in (yardsticks.NODES, yardsticks.COST)
            ),
            *net_plots.losses(trained, sets),
            net_plots.errors(readable(nets, "verification", problems), sets),
        ]
    if problems:
        raise UserError(problems[0])
    return [figure for figure in drawn if figure is not None]


def latex(lines: Sequence[Sequence[str]]) -> str:
    """A booktabs table; the first line is its head, the first column the name of each row."""
    head, *body = lines
    rows = [" & ".join(map(escaped, line)) + r" \\" for line in (head, *body)]
    return "\n".join(
        [rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}", r"\toprule", rows[0], r"\midrule",
         *rows[1:], r"\bottomrule", r"\end{tabular}", ""]
    )  # fmt: skip


def escaped(text: str) -> str:
    """A text as LaTeX prints it; a minus in front of a number is one.

    >>> print(escaped("A_1 & B"), escaped("-3.5"))
    A\\_1 \\& B $-$3.5
    """
    minus = text[:1] == "-" and text[1:2].isdigit()
    return ("$-$" if minus else "") + "".join(_SIGNS.get(c, c) for c in text[minus:])


def _table(experiment: Experiment) -> tuple[list[list[str]], list[list[str]]]:
    """Its lines as they are in CSV, and with titles and labels as they are printed."""
    rows, known = experiment.rows, grids.titles(experiment.nodes[1])
    shown, called = [name for name in COLUMNS if any(row.get(name) for row in rows)], labels(rows)
    lines = [[table.entry(row), *(row.get(name) or "" for name in shown)] for row in rows]
    titles = ["feature set", *(known.get(name, name) for name in shown)]
    printed = [[called[entry], *cells] for entry, *cells in lines]
    return [["feature_set", *shown], *lines], [titles, *printed]


def _data(spec: Mapping[str, Any]) -> list[list[str]]:
    """The values that a figure draws; of layers with data of their own the first that has some."""
    found: list[list[dict[str, Any]]] = list(spec.get("datasets", {}).values())
    places = [spec]
    for place in places:
        found.append(place.get("data", {}).get("values", []))
        places += [part for of in ("layer", "hconcat", "vconcat") for part in place.get(of, [])]
        places += [place["spec"]] if isinstance(place.get("spec"), dict) else []
    values = max(found, key=lambda rows: sum(map(len, rows)))
    columns = list(dict.fromkeys(name for value in values for name in value))
    return [columns, *([_cell(value.get(name)) for name in columns] for value in values)]


def _cell(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def _csv(lines: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def _float(kind: str, caption: str, content: str) -> str:
    return (
        f"\\begin{{{kind}}}\n\\centering\n{content}\n\\caption{{{escaped(caption)}}}\n"
        f"\\end{{{kind}}}\n"
    )

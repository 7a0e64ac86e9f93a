"""The view of hand-crafted evaluations that were tuned, of what lies in results/texel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nnuelab.report import reading, texel, texel_plots
from nnuelab.report.section import Section, told
from nnuelab.report.texel import Run


def section(results: Path, label: Any, blobs: dict[str, Any]) -> Section | None:
    """The view; None where nothing was tuned.

    ``label`` says how a file is called; ``blobs`` gets the boards, under ``texel``.
    """
    folder = results / "texel"
    if not any(folder.glob("*/tuned.yaml")):
        return None
    found = Section("texel", "Hand-crafted evaluation", ("texel",))
    with told(found.problems, "the runs"):
        runs = texel.runs(folder)
        found.said = texel.words(runs)
        found.grids.append(texel.summary_grid(runs, label))
        _tuned(runs, found, label, blobs)
    match, errors = folder / "match_table.csv", folder / texel.ERRORS
    if match.is_file():
        with told(found.problems, "the match"):
            found.grids.insert(1, texel.match_grid(match, label))
    if errors.is_file():
        with told(found.problems, "the held-out errors"):
            found.grids.insert(1, texel.errors_grid(errors, label))
            found.said += texel.in_errors(errors, texel.runs(folder)[0].name)
    if match.is_file() and errors.is_file():
        with told([]):  # what is wrong with either has been told
            rated = reading.read_ratings(match)
            figure = texel_plots.error_and_elo(texel.read_errors(errors), rated)
            found.figures[:0] = [figure] if figure else []
    return found


def _tuned(runs: Sequence[Run], found: Section, label: Any, blobs: dict[str, Any]) -> None:
    histories = {run.name: run.history for run in runs}
    found.figures = [texel_plots.error(histories), texel_plots.error(histories, "log")]
    with told(found.problems, "the bits"):
        with_bits = [run for run in runs if texel.has_bits(run.history)]
        if with_bits:
            entropies = {run.name: run.history for run in with_bits}
            found.figures.append(texel_plots.entropy(entropies))
            counts = texel.read_bits(with_bits[0].folder / "history.csv")
            found.figures.append(texel_plots.bits(counts))
    with told(found.problems, "the residuals"):
        content = runs[0].residuals
        found.figures.append(texel_plots.k_curve(content))
        found.figures += [texel_plots.residuals(content, by) for by in texel_plots.VALUES]
        blobs["texel"] = texel.boards(runs)
    with told(found.problems, "the terms"):
        grid = texel.terms_grid(runs, label)
        found.grids += [grid] if grid else []

"""What groups of features are worth to a net, as a figure."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from nnuelab import charts
from nnuelab.nnue.importance import Importance

ROW = 18  # pixels of a group
MOST = 60  # groups that are drawn, those of the largest rise


def figure(rows: Sequence[Importance], loss: float) -> charts.Figure:
    """The rise of the loss without each group, with 95 % intervals, in per cent of ``loss``."""
    shown = sorted(rows, key=lambda row: -row.rise)[:MOST]
    values = [
        {
            "group": row.group,
            "layers behind": behind,
            "rise": 100 * rise / loss,
            "low": 100 * (rise - error) / loss,
            "high": 100 * (rise + error) / loss,
        }
        for row in shown
        for behind, rise, error in (
            ("as they are", row.rise, row.rise_error),
            ("fitted anew", row.refit_rise, row.refit_rise_error),
        )
        if rise is not None and error is not None
    ]
    base = alt.Chart(alt.Data(values=values)).encode(
        y=alt.Y("group:N").sort(None).title(None), color="layers behind:N"
    )
    points = base.mark_point(filled=True).encode(
        x=alt.X("rise:Q").title("rise of the loss without the group, %")
    )
    errors = base.mark_rule().encode(x="low:Q", x2="high:Q")
    return charts.figure(
        "importance",
        "What groups of features are worth",
        "The rise of the validation loss when their rows are masked, with 95 % intervals.",
        errors + points,
        ROW * len(shown) + 40,
    )

"""Figures of policies: what they know of the moves played, their training, their self-play.

Of several seeds the lines are thin, and their mean is thick.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

import altair as alt

from nnuelab.charts import HEIGHT, SHARE_TICKS, Figure, figure, fitted, share_scale, zoom
from nnuelab.report.line_labels import direct, named
from nnuelab.report.plots import MOST_COLORS, ROW_HEIGHT

if TYPE_CHECKING:
    from nnuelab.report.policies import Run, Trained

Row = Mapping[str, Any]
LOSSES = {
    "softmax": "cross-entropy among all pairs",
    "masked": "cross-entropy among legal pairs",
    "mse": "squared error of sigmoids",
}
MOVERS = {"walk": "by the walk", "greedy": "alone", "value": "one ply with its value head"}
OPPONENTS = {"random": "random moves", "points": "one ply of material"}
ENDS = {"mates": "mate", "draws": "draw by rule", "capped": "ply limit"}
SHARES = {"legal_first": "first pair legal", "legal_accuracy": "likeliest legal pair is the move"}
# Colours of ends, the same for all runs; episodes tell what rule it was.
DRAWN_ENDS = [*ENDS.values(), "stalemate", "repetition", "fifty moves", "material", "blocked"]
MOST_BARS = 50  # of a run's ends


def _color(field: str, names: Sequence[str]) -> Any:
    named = alt.Color(f"{field}:N").title(None)
    if len(names) > MOST_COLORS:
        return named.scale(domain=list(names), scheme="tableau20")
    return named.scale(domain=list(names))


def _means(values: Sequence[Row], by: Sequence[str], of: str) -> list[dict[str, Any]]:
    """The mean of ``of`` over the seeds that have it, for each combination of ``by``."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for value in values:
        groups.setdefault(tuple(value[name] for name in by), []).append(value)
    return [
        {**dict(zip(by, key, strict=True)), of: fmean(v[of] for v in group), "seeds": len(group)}
        for key, group in groups.items()
    ]


def _curves(
    values: Sequence[Row],
    x: str,
    of: str,
    names: Sequence[str],
    axis: Any,
    *series: str,
    most: float | None = None,
) -> list[Any]:
    """Layers: a thin line for each seed, a thick one with dots for their mean.

    Colours are those of ``names``, of the first series. If it is the only one, lines have their
    names beside their ends, where there is room; ``most`` is where the axis ends, at the latest.
    """
    steps = sorted({value[x] for value in values})
    means = _means(values, [x, *series], of)
    ends = {mean[series[0]]: mean[of] for mean in means}  # the last ones stay
    beside = direct(ends, [v[of] for v in values], HEIGHT, most) if len(series) == 1 else None
    color = _color(series[0], names)
    color = color.legend(None) if beside else color.legend(values=list(ends))
    axis = axis.scale(fitted(beside.domain)) if beside else axis
    across = (
        alt.X(f"{x}:Q")
        # With few of them Vega puts marks between them.
        .axis(format="d", values=steps if len(steps) <= 10 else alt.Undefined)
        .scale(zero=False, nice=False, padding=8)
    )

    def base(data: Sequence[Row]) -> Any:
        return alt.Chart(alt.Data(values=list(data))).encode(x=across, y=axis, color=color)

    several = len({value["seed"] for value in values}) > 1
    told = [
        *(f"{name}:N" for name in series),
        f"{x}:Q",
        alt.Tooltip(f"{of}:Q", format=".4f"),
    ]
    thin = base(values).mark_line(strokeWidth=1, opacity=0.5)
    thin = thin.encode(detail="seed:N", tooltip=[*told, "seed:N"])
    thick = base(means).mark_line(strokeWidth=2.5)
    dots = base(means).mark_point(filled=True, size=30, opacity=1)
    dots = dots.encode(tooltip=[*told, alt.Tooltip("seeds:Q", title="mean of seeds")])
    if len(series) > 1:
        dash = alt.StrokeDash(f"{series[1]}:N").title(None)
        thin, thick = thin.encode(strokeDash=dash), thick.encode(strokeDash=dash)
    layers = [*([thin] if several else []), thick, dots.add_params(zoom())]
    if beside:
        at = {mean[series[0]]: {x: mean[x]} for mean in means}
        layers.append(named(beside, f"{x}:Q", of, color, series[0], at))
    return layers


def choices(rows: Sequence[Mapping[str, str]]) -> Figure:
    """Two shares of each policy with their standard deviations over seeds."""
    values: list[dict[str, Any]] = []
    for row in rows:
        for column, share in SHARES.items():
            value, spread = float(row[column]), float(row.get(f"{column}_sd") or 0)
            values.append(
                {
                    "policy": row["name"],
                    "of": share,
                    "share": value,
                    "low": max(value - spread, 0),
                    "high": min(value + spread, 1),
                }
            )
    shown = list(SHARES.values())
    base = alt.Chart(alt.Data(values=values)).encode(
        y=alt.Y("policy:N").sort([row["name"] for row in rows]).title(None),
        yOffset=alt.YOffset("of:N").sort(shown),
        color=_color("of", shown),
    )
    title = "share of the positions"
    rules = base.mark_rule(strokeWidth=2).encode(
        alt.X("low:Q", scale=share_scale(value["high"] for value in values))
        .title(title)
        .axis(format="%", tickCount=SHARE_TICKS),
        alt.X2("high:Q"),
    )
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=alt.X("share:Q").title(title),
        tooltip=[
            *("policy:N", "of:N"),
            *(alt.Tooltip(f"{name}:Q", format=".1%") for name in ("share", "low", "high")),
        ],
    )
    return figure(
        "choices",
        "Legal first choice, and accuracy among legal moves",
        "Means over seeds. Bars: their standard deviation.",
        alt.layer(rules, points.add_params(zoom("x"))),
        max(ROW_HEIGHT * len(rows) * len(shown), 120),
    )


def training(known: Sequence[Trained], losses: Mapping[str, str]) -> list[Figure]:
    """Validation loss over epochs, a plot for each kind of loss, and accuracy.

    Parameters
    ----------
    losses : mapping of str to str
        By policy: kinds are different quantities.
    """
    if not known:
        return []
    values: list[Row] = [
        {"policy": each.name, "seed": each.seed, **row} for each in known for row in each.history
    ]
    names = list(dict.fromkeys(each.name for each in known))
    found = []
    for kind in dict.fromkeys(losses[name] for name in names):
        own = [value for value in values if losses[value["policy"]] == kind]
        told = LOSSES.get(kind, kind)
        axis = alt.Y("validation_loss:Q").title(told).scale(zero=False)
        found.append(
            figure(
                f"loss-{kind}",
                f"Validation loss: {told}",
                "Lower is better. Thin: seeds. Thick: their mean.",
                alt.layer(*_curves(own, "epoch", "validation_loss", names, axis, "policy")),
            )
        )
    scale = share_scale(value["accuracy"] for value in values)
    axis = alt.Y("accuracy:Q", scale=scale).title("first pair is the move").axis(format="%")
    found.append(
        figure(
            "accuracy",
            "Accuracy over epochs",
            "Share of the validation positions whose first pair of squares is the move played. "
            "Thin: seeds. Thick: their mean.",
            alt.layer(*_curves(values, "epoch", "accuracy", names, axis, "policy", most=1.0)),
        )
    )
    return found


def selfplay(name: str, seeds: Sequence[Run]) -> list[Figure]:
    """Scores over the iterations of a run, where they were measured, and ends of its games."""
    scores = _scores(name, seeds)
    return [*([scores] if scores else []), _ends(name, seeds)]


def _scores(name: str, seeds: Iterable[Run]) -> Figure | None:
    values = [
        {
            "iteration": row["iteration"],
            "seed": run.seed,
            "against": against,
            "player": player,
            "score": row[f"{mover}_{opponent}"],
        }
        for run in seeds
        for row in run.history
        for opponent, against in OPPONENTS.items()
        for mover, player in MOVERS.items()
        if f"{mover}_{opponent}" in row
    ]
    if not values:
        return None
    axis = alt.Y("score:Q").title("true score").scale(domain=[0, 1])
    half = alt.Chart(alt.Data(values=[{}])).mark_rule(strokeDash=[4, 4], opacity=0.6, aria=False)
    against = list(OPPONENTS.values())
    curves = _curves(values, "iteration", "score", against, axis, "against", "player")
    return figure(
        f"selfplay-{name}-scores",
        f"Self-play {name}: score against random moves and material",
        "Mates alone count as wins, any other end as half a point. Thin: seeds. Thick: their mean.",
        alt.layer(half.encode(y=alt.datum(0.5)), *curves),
    )


def _ends(name: str, seeds: Sequence[Run]) -> Figure:
    """What ended the games, in bars of as many iterations as leave at most `MOST_BARS`."""
    last = int(max(run.history[-1]["iteration"] for run in seeds))
    width = -(-last // MOST_BARS)
    counts: dict[int, dict[str, float]] = {}
    for run in seeds:
        for row in run.history:
            bar = counts.setdefault((int(row["iteration"]) - 1) // width, {})
            for end, share in _shares(row).items():
                bar[end] = bar.get(end, 0) + share * row["games"]
    kinds = sorted({end for bar in counts.values() for end in bar}, key=_rank)
    values = [
        {
            "from": place * width + 0.5,
            "to": (place + 1) * width + 0.5,
            "end": end,
            "rank": rank,
            "share": bar.get(end, 0) / sum(bar.values()),
        }
        for place, bar in counts.items()
        for rank, end in enumerate(kinds)
    ]
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X("from:Q")
            .bin("binned")
            .title("iteration")
            .axis(format="d", values=list(range(1, last + 1)) if last <= 10 else alt.Undefined)
            .scale(nice=False),
            x2="to:Q",
            y=alt.Y("share:Q").title("share of the games").axis(format="%"),
            color=_color("end", DRAWN_ENDS).legend(values=kinds),
            order=alt.Order("rank:Q"),
            tooltip=["end:N", alt.Tooltip("share:Q", format=".1%")],
        )
        .add_params(zoom())
    )
    return figure(
        f"selfplay-{name}-ends",
        f"Self-play {name}: what ended its games",
        "Of all seeds. All but mates are draws.",
        chart,
    )


def _shares(row: Row) -> dict[str, float]:
    """What share of the games of an iteration ended how; an episode tells it of its first game."""
    if "end" in row:
        return {str(row["end"]).replace("_", " "): 1.0}
    return {end: row[column] for column, end in ENDS.items()}


def _rank(end: str) -> tuple[int, str]:
    """Mates first, the limit last."""
    return (0 if end == "mate" else 2 if end == "ply limit" else 1), end


def entropy(known: Sequence[Run]) -> Figure | None:
    """Entropy over the iterations of those runs that have it; None without any."""
    values = [
        {"run": run.name, "seed": run.seed, **{n: row[n] for n in ("iteration", "entropy")}}
        for run in known
        for row in run.history
        if "entropy" in row
    ]
    if not values:
        return None
    axis = alt.Y("entropy:Q").title("entropy, nats")
    drawn = list(dict.fromkeys(value["run"] for value in values))
    return figure(
        "selfplay-entropy",
        "Self-play: entropy of the legal moves",
        "How undecided a policy is: 0 for a single move, 3.4 for thirty equal ones. Thin: seeds. "
        "Thick: their mean.",
        alt.layer(*_curves(values, "iteration", "entropy", drawn, axis, "run")),
    )

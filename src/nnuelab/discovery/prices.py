"""What the terms of a sum add to the time of a node, measured in searches of the engine.

A sum costs what its terms do together. Each of them is measured beside ALL, whose node costs 1: by
the net that comes with the package, and by the same with rows for the term that are 0. Both search
the same trees, so their times differ by what it takes to find the term's features and to add their
rows. ALL's own share of a node can't be measured so; the rows of its updates tell it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from nnuelab import artifacts, features, json_text
from nnuelab.discovery.grammar import terms_of
from nnuelab.errors import UserError
from nnuelab.features import fingerprint
from nnuelab.nnue.netfile import DEFAULT_NET, read_net
from nnuelab.nnue.replay import resized, silent
from nnuelab.settings.games import Pricing
from nnuelab.tournament import cost as costs

BASE = "ALL"
SETTINGS = Pricing(precision=0.02)
# Of the time of a node with 256 neurons, for each row that a move changes in one accumulator: the
# measured costs of the axis experiment give .038 to .051.
ROW = 0.045
LEAST = 0.9  # of the price of a term, which is 1 or more but for the noise of the clock


def measured(path: Path, sets: Iterable[str], positions: Path, l1: int) -> dict[str, float]:
    """What a node of ALL and a term costs, by term.

    Read from ``path``, or measured and written there, where it has no such file, or one that was
    measured with other neurons or other definitions of the terms.

    Parameters
    ----------
    path : Path
        CSV of `nnuelab.tournament.cost`.
    sets : iterable of str
        Expressions whose terms are wanted.
    positions : Path
        A dataset to draw positions from.
    l1 : int
        Neurons.

    Raises
    ------
    UserError
        Where the file can't be read, or lacks a term.
    """
    names = dict.fromkeys(term for each in sets for term in terms_of(each) if term != BASE)
    wanted = {term: fingerprint.code(features.parse(term)) for term in names}
    if not _is_of(path, wanted, l1):
        net = resized(read_net(DEFAULT_NET), l1)
        nets = {
            BASE: net,
            **{term: silent(net, features.parse(f"{BASE}+{term}")) for term in wanted},
        }
        pending = path.with_name(f"{path.name}.partial")
        costs.measure(nets, positions, BASE, SETTINGS, pending)
        artifacts.provenance(
            pending,
            inputs={"positions": positions, "net": DEFAULT_NET},
            parameters={"l1": l1, "terms": wanted, "machine": costs.machine()},
            module="discovery.prices",
            artifact=path.name,
        )
        # The record first: without one, prices are somebody else's, and stay.
        for ending in (".json", ""):
            os.replace(f"{pending}{ending}", f"{path}{ending}")
    remedy = "remove it, and all terms are measured anew"
    try:
        known = costs.read(path)
        prices = {term: known[term] for term in wanted}
    except UserError as error:
        raise UserError(f"{path} isn't whole ({error}); {remedy}") from None
    except KeyError as error:
        raise UserError(f"{path} lacks {error.args[0]}; {remedy}") from None
    for term, price in prices.items():
        if price < LEAST:
            raise UserError(
                f"{path}: a node costs {price:g} times as much with {term}, which can only make it "
                f"dearer; {remedy}"
            )
    return prices


def _is_of(path: Path, terms: Mapping[str, str], l1: int) -> bool:
    """Whether a file has the prices of these terms, or somebody else's, who tells nothing of it."""
    if not path.exists():
        return False
    try:
        told = json_text.load(Path(f"{path}.json").read_text())["parameters"]
        return bool(told["l1"] == l1 and terms.items() <= told["terms"].items())
    except FileNotFoundError:
        return True
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def own_share(rows: float, l1: int) -> float:
    """ALL's share of its own node, of which the rest takes the same time with any first layer.

    Parameters
    ----------
    rows : float
        That a move changes in one accumulator.
    l1 : int
    """
    usual = ROW * rows
    now = usual * l1 / 256
    return now / (1 - usual + now)


def together(feature_set: str, prices: Mapping[str, float], own: float) -> float:
    """What a node of a set costs, where one of ALL costs 1.

    Parameters
    ----------
    feature_set : str
    prices : mapping of str to float
        What a node of ALL and a term costs.
    own : float
        ALL's share of its own node.
    """
    return (
        1 - own + sum(own if term == BASE else prices[term] - 1 for term in terms_of(feature_set))
    )

"""Traces against definitions of the blocks, their files, and what is told of bad ones."""

from __future__ import annotations

import chess
import numpy as np
import pytest

from nnuelab.chess.position import POSITION
from nnuelab.data import dataset, sampling
from nnuelab.data.records import UNKNOWN_RESULT, unpack
from nnuelab.errors import UserError
from nnuelab.evaluator import values
from nnuelab.hce import evaluation, trace
from nnuelab.hce.evaluator import HceEvaluator
from nnuelab.hce.trace import Trace
from nnuelab.settings.sample import Sampling
from tests.hce import traces
from tests.naive import hce as naive
from tests.positions import random_fens


def entries(found: Trace, i: int) -> dict[int, int]:
    cut = slice(int(found.starts[i]), int(found.starts[i + 1]))
    return dict(zip(found.terms[cut].tolist(), found.counts[cut].tolist(), strict=True))


def test_a_trace_is_its_twin(tmp_path) -> None:
    terms = traces.some_terms(tmp_path)
    fens = [*random_fens(1, 150), "8/8/4k3/8/8/4K3/8/8 w - - 0 1", chess.STARTING_FEN]
    results = np.random.default_rng(1).integers(0, 3, len(fens)) / 2
    found = traces.made(tmp_path, terms, fens, results.tolist())
    assert len(found) == len(fens)
    assert found.results.tolist() == results.tolist()
    assert found.games.tolist() == list(range(len(fens)))
    for i, fen in enumerate(fens):
        assert entries(found, i) == naive.traced(terms, fen), fen
        assert found.phase[i] == naive.phase(terms, fen), fen
    for name in ("starts", "terms", "counts", "phase", "results", "games"):
        assert isinstance(getattr(found, name), np.memmap)
    assert (
        np.diff(found.starts.astype(int)) == [len(entries(found, i)) for i in range(len(fens))]
    ).all()


def test_the_first_position_counts_nothing_and_colours_change_signs(tmp_path) -> None:
    terms = traces.some_terms(tmp_path)
    fens = random_fens(2, 40)
    turned = [chess.Board(fen).mirror().fen() for fen in fens]
    found = traces.made(tmp_path, terms, [chess.STARTING_FEN, *fens, *turned], [1.0] * 81)
    assert entries(found, 0) == {}
    for i in range(1, 41):
        assert entries(found, i + 40) == {w: -n for w, n in entries(found, i).items()}
        assert found.phase[i] == found.phase[i + 40]


def test_the_position_before_does_not_matter(shared, tmp_path) -> None:
    terms = evaluation.read(evaluation.DEFAULT)
    games = sampling.positions([shared / "data/games/fixture_evals_200.pgn"], Sampling())
    in_order = np.concatenate(list(games))[:2000]
    order = np.random.default_rng(8).permutation(len(in_order))
    one, other = (
        trace.write(tmp_path / f"{i}.trace", traces.saved(tmp_path / f"{i}.npy", positions), terms)
        for i, positions in enumerate((in_order, in_order[order]))
    )
    for i, before in enumerate(order.tolist()):
        assert entries(other, i) == entries(one, before)


def test_more_positions_than_a_chunk_and_several_shards(tmp_path, monkeypatch) -> None:
    terms = traces.some_terms(tmp_path)
    positions = traces.records(random_fens(3, 90))
    whole = trace.write(tmp_path / "a.trace", traces.saved(tmp_path / "a.npy", positions), terms)
    monkeypatch.setattr(trace, "CHUNK", 16)
    for i, cut in enumerate((slice(0, 40), slice(40, 90))):
        traces.saved(tmp_path / f"{i}.npy", positions[cut])
    index = dataset.write_index(tmp_path / "all.shards", [tmp_path / "0.npy", tmp_path / "1.npy"])
    trace.write(tmp_path / "b.trace", index, terms)
    assert (tmp_path / "b.trace").read_bytes() == (tmp_path / "a.trace").read_bytes()
    phase = np.repeat(whole.phase, np.diff(whole.starts).astype(int))
    counted = np.stack([phase > 0, phase < 24], axis=1).sum(axis=0)
    assert whole.coverage().sum(axis=0) == pytest.approx(counted / 90)


def test_weights_that_no_position_has_are_named(tmp_path) -> None:
    terms = traces.some_terms(tmp_path)
    fens = ["4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", "4k3/8/8/8/8/4P3/8/4K3 w - - 0 1"]
    found = traces.made(tmp_path, terms, fens, [1.0, 0.5])
    never = trace.never_hit(found.coverage(), terms)
    assert "material[queen]" in never
    assert "material[pawn]" not in never
    assert len(never) == np.count_nonzero(~found.coverage().any(axis=1))


def test_a_trace_belongs_to_its_terms_and_not_to_their_weights(tmp_path) -> None:
    terms = traces.some_terms(tmp_path)
    traces.made(tmp_path, terms, random_fens(4, 3), [1.0, 0.0, 0.5])
    path = tmp_path / "positions.trace"
    assert len(trace.open(path, terms.with_weights(terms.weights + 1))) == 3
    (tmp_path / "other.yaml").write_text("terms: {a: {features: OWN, by: [ROLES]}}")
    with pytest.raises(UserError, match=r"positions\.trace is a trace of another evaluation"):
        trace.open(path, evaluation.read(tmp_path / "other.yaml"))


def test_files_that_are_no_traces_are_told(tmp_path) -> None:
    terms = traces.some_terms(tmp_path)
    traces.made(tmp_path, terms, random_fens(5, 30), [0.5] * 30)
    good = (tmp_path / "positions.trace").read_bytes()
    bad = tmp_path / "bad.trace"

    def refused(content: bytes, match: str) -> None:
        bad.write_bytes(content)
        with pytest.raises(UserError, match=match):
            trace.open(bad)

    refused(good[:-1], "damaged or cut off")
    refused(good + b"\0", "damaged or cut off")
    refused(b"PK" + good[2:], r"bad\.trace is no trace")
    refused(good.replace(b'"positions": 30', b'"positions": -3'), "damaged or cut off")
    refused(good.replace(b'"n_weights": ', b'"n_weights": x'), "damaged or cut off")
    refused(b"", "is no trace")
    with pytest.raises(UserError, match=r"there is no trace .*texel trace"):
        trace.open(tmp_path / "none.trace")
    with pytest.raises(UserError, match="can't read"):
        trace.open(tmp_path)
    # Numbers that would lead a kernel out of its arrays, and others that can't be.
    found = trace.open(tmp_path / "positions.trace")
    for name, value in (
        ("starts", 2**40),
        ("terms", found.n_weights),
        ("phase", 25),
        ("results", 7.0),
    ):
        array = getattr(found, name)
        damaged = np.frombuffer(good, np.uint8).copy()
        cells = damaged[array.offset : array.offset + array.nbytes].view(array.dtype)
        cells[len(cells) // 2] = value
        refused(damaged.tobytes(), r"bad\.trace is damaged: its")


def test_positions_without_results_or_without_end_are_told(tmp_path) -> None:
    terms = traces.some_terms(tmp_path)
    positions = traces.records(random_fens(6, 5))
    positions["result"][3] = UNKNOWN_RESULT
    with pytest.raises(UserError, match=r"a\.npy has positions without a result"):
        trace.write(tmp_path / "a.trace", traces.saved(tmp_path / "a.npy", positions), terms)
    with pytest.raises(UserError, match="has no positions"):
        trace.write(tmp_path / "a.trace", traces.saved(tmp_path / "b.npy", positions[:0]), terms)
    assert not list(tmp_path.glob("*.trace"))


def test_a_count_beyond_a_byte_is_told_with_its_weight(tmp_path) -> None:
    (tmp_path / "pairs.yaml").write_text("terms: {pairs: {features: OWN*OWN, by: []}}")
    terms = evaluation.read(tmp_path / "pairs.yaml")
    few, many = "4k3/8/8/8/8/8/8/QQQQKQQQ w - - 0 1", "4k3/8/8/8/8/8/QQQQ4/QQQQKQQQ b - - 0 1"
    positions = traces.saved(tmp_path / "few.npy", traces.records([few]))
    found = trace.write(tmp_path / "a.trace", positions, terms)
    assert entries(found, 0) == {0: 63} == naive.traced(terms, few)
    positions = traces.saved(tmp_path / "many.npy", traces.records([few, many]))
    with pytest.raises(UserError, match=r"many\.npy: pairs counts more than 127 in a position"):
        trace.write(tmp_path / "b.trace", positions, terms)


def test_a_trace_times_the_weights_is_what_the_engine_plays_by(shared, tmp_path) -> None:
    terms = traces.some_terms(tmp_path, seed=9)
    positions = np.concatenate(
        list(sampling.positions([shared / "data/games/fixture_evals_200.pgn"], Sampling()))
    )
    found = trace.write(tmp_path / "a.trace", traces.saved(tmp_path / "a.npy", positions), terms)
    sums = np.zeros((len(found), 2), np.int64)
    entry = np.repeat(np.arange(len(found)), np.diff(found.starts.astype(np.int64)))
    np.add.at(sums, entry, found.counts.astype(np.int64)[:, None] * terms.weights[found.terms])
    phase = found.phase.astype(np.int64)
    total = sums[:, 0] * phase + sums[:, 1] * (24 - phase)
    white = np.sign(total) * (np.abs(total) // 24)
    expected = np.where(positions["flags"] & 1, -white, white)
    boards = np.zeros(len(positions), POSITION)
    for record, board in zip(positions, boards, strict=True):
        unpack(record, board)
    bound = HceEvaluator(terms).bind()
    assert list(values(bound, boards)) == expected.tolist()

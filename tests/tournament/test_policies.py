"""Policies and baselines in tournaments, and what their games are worth."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import chess
import chess.pgn
import pytest

from nnuelab import orderer, sources
from nnuelab.chess import notation
from nnuelab.errors import UserError
from nnuelab.policy.mover import Style
from nnuelab.policy.policyfile import write_policy
from nnuelab.settings.games import ORDERING_DEPTH, Rules
from nnuelab.tournament import true_scores
from nnuelab.tournament.baselines import BaselineEntrant, balance
from nnuelab.tournament.external import EngineEntrant
from nnuelab.tournament.game import Line, Seat
from nnuelab.tournament.limits import Limit, Turn
from nnuelab.tournament.nets import NetEntrant
from nnuelab.tournament.play import by_moves
from nnuelab.tournament.players import (
    PARTS,
    Defaults,
    kinds_and_files,
    modules,
    read_players,
)
from nnuelab.tournament.policies import PolicyEntrant
from tests.policy.policies import random_policy
from tests.positions import random_fens

LIMIT = Limit(nodes=1)
DEFAULTS = Defaults({"nodes": 1})
TURN = Turn(LIMIT, 1.0, 1.0, 0.0)


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policies") / "a.policy"
    write_policy(path, random_policy())
    return path


def test_players_are_understood(policy: Path) -> None:
    words = [
        f"a={policy}",
        f"b={{policy: {policy}, temperature: 0.5, plies: 1, seed: 9}}",
        "c={baseline: material, seed: 3}",
    ]
    found = read_players(None, words, DEFAULTS)
    assert found == {
        "a": PolicyEntrant(policy, LIMIT),
        "b": PolicyEntrant(policy, LIMIT, Style(temperature=0.5, plies=1, seed=9)),
        "c": BaselineEntrant("material", LIMIT, 3),
    }
    assert modules(found.values()) == ["tournament.baselines", "tournament.policies"]
    assert kinds_and_files([{"baseline": "random"}, str(policy)]) == (
        ["baseline", "policy"],
        [str(policy)],
    )
    assert found["a"].files() == {"policy": policy}
    assert found["b"].settings()["temperature"] == 0.5
    with pytest.raises(UserError, match="own alone"):
        found["c"].as_engine()


@pytest.mark.parametrize(
    ("player", "said"),
    [
        ("{policy: none.policy}", "there is no policy none.policy"),
        ("{baseline: rnadom}", "no baseline rnadom; did you mean random?"),
        ("{baseline: random, seed: x}", "seed 'x'"),
        ("{baseline: random, temperature: 1}", "unknown setting temperature"),
        ("{net: default, ordering: none.policy}", "there is no policy none.policy"),
        ("{net: default, ordering_depth: 3}", "ordering_depth needs a policy"),
        ("{hce: default, ordering: none.policy, ordering_depth: 0}", "ordering_depth: 0 is no"),
        ("{net: default, ordering: none.policy, ordering_depth: x}", "ordering_depth: 'x' is no"),
    ],
)
def test_mistakes_are_one_line(player: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        read_players(None, [f"a={player}"], DEFAULTS)
    assert said in str(error.value)


def test_the_policy_plays_the_same_in_this_process_and_by_uci(policy: Path) -> None:
    for style in (Style(temperature=1.0, seed=5), Style(walk=True), Style(plies=1)):
        here = PolicyEntrant(policy, LIMIT, style)
        command, options = here.as_engine()
        there = EngineEntrant(command, LIMIT, options)
        texts = []
        for entrant in (here, there):
            player = entrant.start()
            chance = BaselineEntrant("random", LIMIT, 2).start()
            seats = Seat(player, LIMIT), Seat(chance, LIMIT)
            rules = Rules(draw_plies=0, resign_plies=0, max_plies=40)
            game = by_moves(*seats, Line(chess.STARTING_FEN, 40), rules)
            player.close()
            texts.append([(m.san, m.score_cp, m.mate) for m in game.moves])
        assert texts[0] == texts[1]
        assert len(texts[0]) > 10


def test_a_policy_that_orders_moves_is_a_part_of_a_player(policy: Path) -> None:
    words = ["a=default", f"b={{net: default, ordering: {policy}, ordering_depth: 2}}"]
    plain, ordered = read_players(None, words, DEFAULTS).values()
    assert ordered == NetEntrant(None, LIMIT, DEFAULTS.hash_mb, ordering=policy, ordering_depth=2)
    assert ordered.files() == {**plain.files(), "ordering": policy}
    told = {"ordering": str(policy), "ordering_depth": 2}
    assert ordered.settings() == {**plain.settings(), **told}
    assert modules([plain]) == ["tournament.nets"]
    assert modules([ordered]) == [orderer.MODULE, "tournament.nets"]
    assert PARTS["ordering"].module == orderer.MODULE
    assert kinds_and_files([words[1].partition("=")[2]]) == (["net", "ordering"], [str(policy)])
    assert sources.file_of(f"nnuelab.{orderer.MODULE}") not in sources.closure(
        "nnuelab.tournament.nets"
    )
    for kind in ("hce", "net"):
        word = f"c={{{kind}: default, ordering: {policy}}}"
        found = read_players(None, [word], DEFAULTS)["c"]
        assert found.settings()["ordering_depth"] == ORDERING_DEPTH


def test_an_ordered_search_plays_the_same_in_this_process_and_by_uci(policy: Path) -> None:
    limit = Limit(nodes=150)
    here = NetEntrant(None, limit, 1, ordering=policy, ordering_depth=1)
    command, options = here.as_engine()
    entrants = (here, EngineEntrant(command, limit, options), NetEntrant(None, limit, 1))
    texts = []
    for entrant in entrants:
        player = entrant.start()
        rules = Rules(draw_plies=0, resign_plies=0, max_plies=16)
        game = by_moves(*[Seat(player, limit)] * 2, Line(chess.STARTING_FEN, 16), rules)
        player.close()
        texts.append([(m.san, m.score_cp, m.mate) for m in game.moves])
    assert texts[0] == texts[1] != texts[2]


def test_random_moves_are_legal_and_spread_out() -> None:
    player = BaselineEntrant("random", LIMIT, 1).start()
    seen = set()
    for seed in range(200):
        player = BaselineEntrant("random", LIMIT, seed).start()
        seen.add(player.search(Line(chess.STARTING_FEN, 5), TURN).move)
    assert len(seen) == 20


def test_material_is_its_literal_twin() -> None:
    for fen in random_fens(3, 150):
        board = chess.Board(fen)
        best, score = [], -1000
        for move in board.legal_moves:
            board.push(move)
            value = true_scores.balance(board) * (-1 if board.turn else 1)
            drawn = (board.is_stalemate(), board.halfmove_clock >= 100)
            if board.is_checkmate():
                value = 1000
            elif any(drawn) or board.is_insufficient_material():
                value = 0
            board.pop()
            if value > score:
                best, score = [], value
            if value == score:
                best.append(move.uci())
        if not best:
            continue
        for seed in range(3):
            player = BaselineEntrant("material", LIMIT, seed).start()
            assert notation.move_to_uci(player.search(Line(fen, 5), TURN).move) in best
        position = notation.from_fen(fen)
        assert balance(position, 0) == true_scores.balance(board) == -balance(position, 1)


def test_a_tournament_is_the_same_twice_and_material_beats_chance(tmp_path: Path) -> None:
    write_policy(tmp_path / "a.policy", random_policy())
    board, lines = chess.Board(), []
    for move in board.legal_moves:
        board.push(move)
        lines.append(board.epd())
        board.pop()
    (tmp_path / "book.epd").write_text("\n".join(lines))
    players = ["chance={baseline: random}", "material={baseline: material}", "policy=a.policy"]
    command = [sys.executable, "-m", "nnuelab.cli", "tournament", *players, "--book", "book.epd"]
    command += ["--games-per-pairing", "20", "--nodes", "1", "--max-plies", "200"]
    texts = []
    for name, workers in (("a.pgn", "1"), ("b.pgn", "2")):
        more = ["--output", name, "--workers", workers]
        done = subprocess.run([*command, *more], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1]
    done = subprocess.run(
        [*command[:3], "policy", "score", "a.pgn", "--csv", "scores.csv"],
        **{"capture_output": True, "text": True, "cwd": tmp_path},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "scores.csv.json").read_text())["inputs"]["a.pgn"]["sha256"]
    rows = {row["player"]: row for row in csv.DictReader((tmp_path / "scores.csv").open())}
    assert {row["games"] for row in rows.values()} == {"40"}
    assert float(rows["material"]["adjudicated_score"]) > 0.8
    assert float(rows["material"]["material"]) > 3
    assert sum(float(row["true_score"]) for row in rows.values()) == pytest.approx(1.5, abs=1e-3)
    for row in rows.values():
        ends = [float(share) for name, share in row.items() if name.startswith("end_")]
        assert sum(ends) == pytest.approx(1, abs=1e-3)
        assert row["end_other"] == "0.0000"
        assert row["opponent"] == ""
        assert float(row["true_low"]) < float(row["true_score"]) < float(row["true_high"])


GAMES = {
    "mate": ("f3 e5 g4 Qh4#", None, "0-1", ""),
    "stalemate": ("Qf7", "7k/8/6K1/8/8/8/5Q2/8 w - - 0 1", "1/2-1/2", ""),
    "threefold": ("Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1 Ng8", None, "1/2-1/2", ""),
    "fifty": ("Rb2 Kg8", "7k/8/6K1/8/8/8/8/1R6 w - - 98 80", "1/2-1/2", ""),
    "material": ("Kxe7", "7k/4q3/5K2/8/8/8/8/8 w - - 0 1", "1/2-1/2", ""),
    "ply limit": ("e4 e5", None, "1/2-1/2", "maximum length"),
    "other": ("e4 e5", None, "1-0", "Black loses on time"),
}


@pytest.mark.parametrize("end", GAMES)
def test_each_end_of_a_game_is_told(end: str, tmp_path: Path) -> None:
    sans, fen, result, said = GAMES[end]
    game = chess.pgn.Game()
    if fen:
        game.setup(fen)
    node: chess.pgn.GameNode = game
    for san in sans.split():
        node = node.add_variation(node.board().parse_san(san))
    node.comment = said
    for name, value in {"White": "w", "Black": "b", "Result": result}.items():
        game.headers[name] = value
    path = tmp_path / "a.pgn"
    path.write_text(f"{game}\n\n")
    tallies = {name: own for (name, _), own in true_scores.tally([path]).items()}
    assert dict(tallies["w"].ends) == {end: 1}
    assert tallies["w"].true == {"mate": 0.0}.get(end, 0.5)
    ahead = {"mate": 0.0, "stalemate": 1.0, "fifty": 1.0}.get(end, 0.5)
    assert (tallies["w"].adjudicated, tallies["b"].adjudicated) == (ahead, 1 - ahead)


def test_games_without_a_result_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.pgn"
    path.write_text('[Event "?"]\n[Result "*"]\n\n1. e4 *\n')
    with pytest.raises(UserError, match="game 1 has no result"):
        true_scores.tally([path])


def test_scores_against_some_are_rows_of_their_own(tmp_path: Path) -> None:
    """Games of two files, by opening pair: the interval is that of pairs, not of games."""
    path, mate = tmp_path / "a.pgn", "1. f3 e5 2. g4 Qh4# 0-1"
    met = [("a", "r", 1), ("r", "a", 1), ("a", "r", 2), ("b", "r", 1), ("r", "m", 1)]
    path.write_text(
        "".join(
            f'[White "{white}"]\n[Black "{black}"]\n[Round "{number}.{i}"]\n[Result "0-1"]\n\n'
            f"{mate}\n\n"
            for i, (white, black, number) in enumerate(met)
        )
    )
    found = true_scores.tally([path], ["r", "m"])
    assert {key: (own.games, own.true) for key, own in found.items()} == {
        ("a", "r"): (3, 1.0),
        ("b", "r"): (1, 0.0),
        ("m", "r"): (1, 1.0),
        ("r", "m"): (1, 0.0),
    }
    assert list(found["a", "r"].pairs.values()) == [(2, 1.0), (1, 0.0)]
    low, high = found["a", "r"].interval
    assert 0 <= low < 1 / 3 < high < 1
    with pytest.raises(UserError, match=r"nobody plays against x in .*a\.pgn"):
        true_scores.tally([path], ["x"])

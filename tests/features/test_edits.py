"""One definition: an edit of a predicate is what is extracted and updated, for every block."""

from __future__ import annotations

import re

import pytest

from nnuelab.features import add_files, check, parse, registry

EDITS = [
    ("squares", "ALL", "return file_of(square), rank_of(square)", "return file_of(square ^ 7), 0"),
    ("squares", "KING", "return square if", "return square ^ 7 if"),
    ("squares", "SC", "return square, color", "return square, 1 - color"),
    ("squares", "SR", "return square, role", "return square, 5 - role"),
    ("squares", "YACGE", "square_color + square_role", "square_role + square_color"),
    ("lines", "H", "return file_of(square)", "return 7 - file_of(square)"),
    ("lines", "V", "return rank_of(square)", "return 7 - rank_of(square)"),
    ("lines", "D1", "return diagonal1_of(square)", "return diagonal1_of(square ^ 7)"),
    ("lines", "D2", "return diagonal2_of(square)", "return diagonal2_of(square ^ 7)"),
    ("neighbours", "PH", "along=RANKS)\n", "along=FILES)\n"),
    ("neighbours", "PV", "return line, role", "return line, 5 - role"),
    ("neighbours", "PD1", "return line, role", "return line, 5 - role"),
    ("neighbours", "PD2", "return line, role", "return line, 5 - role"),
    ("kings", "KA", "return king, file_of(square)", "return king ^ 7, file_of(square)"),
    ("kings", "KP", "return king, file_of(square)", "return king ^ 7, file_of(square)"),
    ("kings", "KB(4)", "ranks[rank_of(king)]", "ranks[7 - rank_of(king)]"),
    ("kings", "HRK(H)", "file += 7 - file_of(king)", "file += 7 - rank_of(king)"),
    ("kings", "HALFKAV2", "return king, min(", "return king ^ 7, min("),
    ("kings", "HALFKAV2_HM", "return bucket, min(", "return bucket ^ 1, min("),
    ("kings", "HALFRELATIVEKP", "return file_of(square) + 7", "return rank_of(square) + 7"),
    ("attacks", "AB", "return attacks(", "return safe_moves("),
    ("attacks", "AC", "return attacks(square, pieces), a", "return moves(square, pieces), a"),
    ("attacks", "MB", "return safe_moves(", "return moves("),
    ("attacks", "MC", "return safe_moves(", "return attacks("),
    ("attacks", "PM", "return moves(", "return attacks("),
    ("attacks", "TH", "return attacks(square, pieces) &", "return moves(square, pieces) &"),
    ("attacks", "FULL_THREATS(12)", "square > target", "square < target"),
    ("pairs", "PP", "not in (0, 7)", "not in (0, 1, 7)"),
    ("pairs", "PP_3WIDE", "<= 1,", "<= 2,"),
    ("selections", "HM(ALL)", "mirrored=True", "mirrored=False"),
    ("selections", "POSSIBLE(ALL)", "parts.alive()", "None"),
    ("squares", "OWN", "(role, rank_of(square)", "(role, file_of(square)"),
    ("squares", "MEN", "return role, rank_of(square)", "return role, file_of(square)"),
    ("structure", "DOUBLED", "own & behind(own)", "own & ahead(own)"),
    ("structure", "ISOLATED", "beside(files(own))", "beside(own)"),
    ("structure", "BACKWARD", "& left_behind & stopped", "& left_behind"),
    ("structure", "CONNECTED", "& ~defended", ""),
    ("structure", "PASSED", "passed(position), -8", "pawns_of(position, OWN), -8"),
    ("structure", "PASSED_KINGS", "distance(own, square + 8)", "distance(own, square)"),
    ("structure", "PASSED_WAY", "3 * 48 - 8", "2 * 48 - 8"),
    ("structure", "SPACE", "SPACE & ~own", "SPACE & own"),
    ("activity", "BISHOP_PAIR", "!= 0 and bishops", "!= 0 or bishops"),
    ("activity", "MOBILITY", "& allowed)", "& occupied)"),
    ("activity", "REACH", "& allowed)", "& occupied)"),
    (
        "activity",
        "OUTPOST",
        "RANKS_4_TO_6 & attacked_upwards(pawns_of(position, OWN))",
        "RANKS_4_TO_6",
    ),
    ("activity", "BISHOP_PAWNS", "popcount(pawns & LIGHT", "popcount(pawns & ~LIGHT"),
    ("activity", "ROOK_FILE", "rooks & half_open, 0", "rooks & ~half_open, 0"),
    ("activity", "SEVENTH", "position.roles[ROOK] & own", "position.roles[KNIGHT] & own"),
    ("activity", "TEMPO", "== OWN", "== ENEMY"),
    ("shelter", "SHELTER", "if column else 6", "if column else 5"),
    ("shelter", "STORM", "np.uint64(square - 8)", "np.uint64(square - 7)"),
    ("shelter", "KING_ATTACK", "& targets)", "& occupied)"),
    ("shelter", "KING_ATTACKERS", "& targets !=", "& occupied !="),
    ("shelter", "KING_CHECKS", "& attacks.knight(king)", "& attacks.king(king)"),
    ("exchanges", "THREAT", "by_pawns & position.roles[role]", "by_pawns & ~position.roles[role]"),
    ("exchanges", "HANGING", "targets ^= targets &", "targets &= targets &"),
    ("exchanges", "PUSH_THREAT", "& ~attacked_upwards(own)", ""),
    ("phases", "PHASE(3,ALL)", "phases(n, parts)", "phases(n + 1, parts)"),
]
"""Blocks of the package: their file, the edit, in the definition of that block alone."""


@pytest.fixture(scope="module")
def games():
    return check.random_games(len(check.STARTS), seed=5)


def test_every_block_is_edited():
    built_in = registry.load().values()
    names = {known.name for known in built_in}
    edited = {name.partition("(")[0] for _, name, *_ in EDITS}
    assert names - edited == {"TOPK"}, "its pairs come from a file"


@pytest.mark.parametrize(("file", "name", "old", "new"), EDITS, ids=lambda text: text[:12])
def test_an_edited_predicate_is_what_is_computed(
    file, name, old, new, games, tmp_path, monkeypatch
):
    monkeypatch.setenv("NNUELAB_BLOCKS", "")
    text = (registry.BUILT_IN / f"{file}.py").read_text()
    start = re.search(rf'^.*"{name.partition("(")[0]}"', text, re.MULTILINE).start()
    assert old in text[start:]
    text = text[:start] + text[start:].replace(old, new, 1)
    text = re.sub(
        r'^(@\w+|\w+ = (?:named|selection))\((\s*)"', r'\1(\2"MY_', text, flags=re.MULTILINE
    )
    text = re.sub(r",\s*aliases=\([^)]*\)", "", text)
    path = tmp_path / "mine.py"
    path.write_text(text)
    add_files([path])
    before, after = parse(name), parse(f"MY_{name}")
    positions = [position for game in games for position in game.positions[::10]]
    found = [[check.extracted(f, position, 0) for position in positions] for f in (before, after)]
    assert found[0] != found[1]
    for holds in ("extraction = definition", "incremental = refresh after every move"):
        check.PROPERTIES[holds](after, games[:2])

"""A net is refused where a block of its feature set means something else than in training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from nnuelab.errors import UserError
from nnuelab.features import add_files, fingerprint, parse
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.layers import Layers
from nnuelab.nnue.netfile import read_net, write_net
from nnuelab.nnue.network import Network
from nnuelab.nnue.quantize import quantize
from tests.nnue_nets import random_net

PACKAGE = {
    "AB": "88610075ace242d2",
    "AC": "7d95436ddfd16c5f",
    "ALL": "314f165c90db1607",
    "BACKWARD": "a0010bf76dcb4ba4",
    "BISHOP_PAIR": "87eced4421e9eed3",
    "BISHOP_PAWNS": "b17c8e9e5597d94b",
    "CONNECTED": "498ca213f25de914",
    "D1": "95420c08ae4ef9e5",
    "D2": "c0e0ddbe4bae07f5",
    "DOUBLED": "93fae7c93358adb8",
    "FULL_THREATS(11)": "b963ec1cf4532ad6",
    "FULL_THREATS(12)": "0ada7bbfb0b9c5a6",
    "FULL_THREATS(16)": "7617707a5caf7612",
    "H": "239d9972184decf3",
    "HALFKAV2": "3ac281222f2a7fe8",
    "HALFKAV2_HM": "3bb8af871e73ab82",
    "HALFRELATIVEKP": "536810a1e0984fcb",
    "HANGING": "6c03aaf867739d84",
    "HM(SC)": "621c56e39a1f57b2",
    "HRK(HV)": "ced5a6e8c24e6451",
    "ISOLATED": "6eed95b0d3cba792",
    "KA": "5ab57d967feeedf4",
    "KB(16)": "103c6acaabf80bd5",
    "KING_ATTACK": "7a95c37721482a29",
    "KING_ATTACKERS": "f384b20cded3e7e6",
    "KING_CHECKS": "ce10fb55a9bd4dd6",
    "KP": "9b86741ad66c660f",
    "MB": "748cbfad7a134386",
    "MC": "3af9949a597f65e5",
    "MEN": "35871396a622c1fa",
    "MOBILITY": "bf80055cfc8a7818",
    "OUTPOST": "82620dc22ad43115",
    "OWN": "13679d4daefeaec9",
    "PASSED": "b9d08964e3d78d55",
    "PASSED_KINGS": "e69f39f442d104f1",
    "PASSED_WAY": "6dc8940903029da5",
    "PD1": "6554e72bf8310080",
    "PH": "38e43d8bc94a7a16",
    "PHASE(4,ALL+H)": "0646d5f41471b7c8",
    "PM": "cc53794d449824f5",
    "POSSIBLE(H)": "2d0352b5456ade48",
    "PP": "e251703d0c7ccfb1",
    "PP_3WIDE": "e4ac47754b841544",
    "PUSH_THREAT": "a5395564572dd626",
    "PV": "94eaa758dc820778",
    "REACH": "635a0ef20257f657",
    "ROOK_FILE": "93b5e0fe11cec2e0",
    "SEVENTH": "b978951c1057ac82",
    "SHELTER": "e64a968438e47cac",
    "SPACE": "95de6b0c78e2517a",
    "STORM": "d1720a12a0d84f29",
    "TEMPO": "041c4f918a4dfc47",
    "TH": "406b0be208e51ba9",
    "THREAT": "4a677af41861e5e5",
    "V": "c2dbcd7b899f41a5",
    "YACGE": "0fc6cd039c2745db",
}
"""A new fingerprint makes all nets of a block useless: let one change only with the features."""

MINE = '''
from nnuelab.features import *
from nnuelab.jit import jit, popcount

LEAST = 2
HALVES = Concept("HALVES", ("the queen's side", "the king's side"))

@piece_square("HALF", HALVES, ROLES, COLORS)
def half(square, role, color):
    """A piece of role r and colour c stands on a half of the board."""
    return file_of(square) // 4, role, color

@king_piece("LEFT", COLORS)
def left(king, square, role, color):
    """A piece of colour c stands left of the own king."""
    return color if file_of(square) < file_of(king) else None

@neighbours("NEXT", RANKS, COLORS, COLORS, along=RANKS)
def next_to(line, role, color, other_role, other_color):
    """On rank k, a piece of colour c stands left of one of colour d."""
    return line, color, other_color

@piece_pairs("TWO")
def two():
    """Two own rooks."""
    return [((ROOK, OWN, 0), (ROOK, OWN, square)) for square in range(1, 8)]

@jit
def many(position, color):
    return popcount(position.roles[BISHOP] & position.colors[color]) >= LEAST

@computed("PAIR", COLORS, at_most=2)
def bishop_pair(position, out):
    """Colour c has two bishops."""
    n = 0
    for color in range(2):
        if many(position, color):
            out[n] = color
            n += 1
    return n

@family("AT_LEAST", Number("n", range(1, 9)), examples=())
def at_least(n):
    """The own pawns are at least n."""
    @computed("AT_LEAST", OWN_ONLY, at_most=1)
    def pawns(position, out):
        out[0] = 0
        return 1 if popcount(position.roles[PAWN] & position.colors[OWN]) >= n else 0
    return pawns

OWN_ONLY = Concept("OWN", ("own",))
both = named("BOTH", half + bishop_pair, "Halves and bishop pairs.")
'''
SETS = ["HALF", "LEFT", "NEXT", "TWO", "PAIR", "AT_LEAST(3)", "BOTH", "PHASE(3,PAIR)*HALF"]


def prints(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> dict[str, str]:
    """Fingerprints of all sets, from a file of its own: a process reads each once."""
    path = folder / f"mine{len(list(folder.iterdir()))}.py"
    path.write_text(text)
    monkeypatch.setenv("NNUELAB_BLOCKS", "")
    add_files([path])
    found: dict[str, str] = {}
    for name in SETS:
        found |= fingerprint.of_blocks(parse(name))
    return found


def test_blocks_of_the_package_mean_what_they_meant():
    assert {name: fingerprint.of(parse(name).blocks[0]) for name in PACKAGE} == PACKAGE


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("file_of(square) // 4, role", "file_of(square) % 2, role", {"HALF"}),
        ("file_of(square) <", "file_of(square) <=", {"LEFT"}),
        ("return line, color, other_color", "return line, other_color, color", {"NEXT"}),
        ("range(1, 8)]", "range(7, 0, -1)]", {"TWO"}),
        ("n = 0\n", "n = 1\n", {"PAIR"}),
        (">= LEAST", "> LEAST", {"PAIR"}),  # in what it calls
        ("LEAST = 2", "LEAST = 3", {"PAIR"}),  # a constant of that
        (">= n else", "> n else", {"AT_LEAST(3)"}),
        ("half + bishop_pair", "bishop_pair + half", {"BOTH"}),
        # The same, written otherwise.
        ("stands on a half", "is somewhere on a half", set()),
        ("the queen's side", "the left", set()),
        ("file_of(square) // 4, role", "int(square % 8 > 3), role", set()),
        ("    n = 0\n", "    n   =  0  # none so far\n\n", set()),
    ],
)
def test_an_edit_changes_the_fingerprints_of_what_it_changes(
    old, new, changed, tmp_path, monkeypatch
):
    assert old in MINE
    before = prints(tmp_path, monkeypatch, MINE)
    after = prints(tmp_path, monkeypatch, MINE.replace(old, new, 1))
    assert {name for name in before if before[name] != after[name]} == changed


def test_a_net_is_refused_where_a_block_has_changed(tmp_path, monkeypatch):
    before = prints(tmp_path, monkeypatch, MINE)
    net = random_net("ALL+HALF", 8, 4)
    blocks = fingerprint.of_blocks(parse("ALL+HALF"))
    assert blocks == {"ALL": PACKAGE["ALL"], "HALF": before["HALF"]}
    path = tmp_path / "net.nnue"
    write_net(path, replace(net, blocks=blocks))
    assert read_net(path).blocks == blocks
    prints(tmp_path, monkeypatch, MINE.replace("// 4", "% 2"))
    with pytest.raises(UserError) as error:
        read_net(path)
    told = str(error.value)
    assert told.startswith(f"{path}: the block HALF of {tmp_path}/mine")
    assert "train the net again" in told
    assert "\n" not in told


def test_a_package_s_block_is_compared_too(tmp_path):
    path = tmp_path / "net.nnue"
    write_net(path, replace(random_net("H+V", 8, 4), blocks={"H": PACKAGE["H"], "V": "0" * 16}))
    with pytest.raises(UserError, match=r"the block V of .*lines\.py has changed"):
        read_net(path)


def test_a_net_that_does_not_say_is_trusted_for_the_package_s_blocks_alone(tmp_path, monkeypatch):
    prints(tmp_path, monkeypatch, MINE)
    write_net(tmp_path / "all.nnue", random_net("ALL", 8, 4))
    assert read_net(tmp_path / "all.nnue").blocks == {}
    write_net(tmp_path / "half.nnue", random_net("ALL+HALF", 8, 4))
    with pytest.raises(UserError, match=r"half\.nnue: .* didn't record the block HALF of "):
        read_net(tmp_path / "half.nnue")


def test_a_checkpoint_is_refused_likewise_and_hands_its_fingerprints_on(tmp_path, monkeypatch):
    prints(tmp_path, monkeypatch, MINE)
    features = parse("BOTH")
    network = Network(Layers(features.size, 8, 4), torch.Generator().manual_seed(1))
    blocks = fingerprint.of_blocks(features)
    state = dict(network.state_dict())
    path = tmp_path / "checkpoint.pt"
    Checkpoint(
        feature_set="BOTH",
        settings={},
        epoch=1,
        model=state,
        optimizer={},
        activations=torch.rand(16),
        generator=torch.zeros(1),
        blocks=blocks,
    ).write(path)
    assert quantize(Checkpoint.read(path)).blocks == blocks
    prints(tmp_path, monkeypatch, MINE.replace("LEAST = 2", "LEAST = 3"))
    with pytest.raises(UserError, match=r"checkpoint\.pt: the block PAIR of .*has changed"):
        Checkpoint.read(path)
    assert Checkpoint.load(path).blocks == blocks

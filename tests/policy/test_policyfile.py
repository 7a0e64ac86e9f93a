"""Policy files: what is written is read again, and damage is one line."""

from __future__ import annotations

import dataclasses
import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nnuelab.errors import UserError
from nnuelab.policy.policyfile import HEADS, read_policy, write_policy
from tests.policy.policies import random_policy


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("sizes", [(), (8,), (8, 4)])
def test_what_is_written_is_read_and_has_the_same_bytes(
    head: str, value: bool, sizes: tuple[int, ...], tmp_path: Path
) -> None:
    policy = random_policy(head, sizes, value=value)
    write_policy(tmp_path / "a.policy", policy)
    read = read_policy(tmp_path / "a.policy")
    for name, array in policy.arrays().items():
        assert (read.arrays()[name] == array).all()
    fields = ("feature_set", "head", "activation", "loss", "rank", "blocks")
    assert all(getattr(read, name) == getattr(policy, name) for name in fields)
    write_policy(tmp_path / "b.policy", read)
    assert (tmp_path / "a.policy").read_bytes() == (tmp_path / "b.policy").read_bytes()


def test_the_seed_s_net_has_its_number_of_parameters() -> None:
    seed = random_policy("fromto", (50,), activation="sigmoid", loss="mse", value=False)
    assert seed.parameters == 32_178
    assert seed.output.shape[1] == 128


def signed(content: bytes) -> bytes:
    """A changed file with the checksum of what it holds now."""
    return content[:-32] + hashlib.sha256(content[:-32]).digest()


def test_damage_is_told_in_one_line(tmp_path: Path) -> None:
    whole = tmp_path / "whole.policy"
    write_policy(whole, random_policy())
    content = whole.read_bytes()
    damaged = {
        "empty": b"",
        "other": b"NNUELAB\0" + content[8:],
        "cut": content[:-100],
        "flipped": content[:500] + bytes([content[500] ^ 1]) + content[501:],
        "version": content[:8] + b"\x09" + content[9:],
        "header": content[:16] + b"x" * (len(content) - 16),
        "number": signed(content.replace(b',\n "rank": 0,', b', "rank":NaN,')),
    }
    assert damaged["number"] != content
    for name, bytes_ in damaged.items():
        path = tmp_path / f"{name}.policy"
        path.write_bytes(bytes_)
        with pytest.raises(UserError) as error:
            read_policy(path)
        assert str(path) in str(error.value)
        assert ("NaN is not a number" in str(error.value)) == (name == "number")
        assert "\n" not in str(error.value)
    with pytest.raises(UserError, match="can't read the policy"):
        read_policy(tmp_path / "none.policy")


def test_impossible_policies_are_refused() -> None:
    policy = random_policy()
    for changes, said in [
        ({"head": "x"}, "its head is 'x'"),
        ({"rank": 2}, "makes no sense"),
        ({"rank": 0.0}, "makes no sense"),
        ({"output": policy.output[:, 1:]}, "output is"),
        ({"value_bias": None}, "half of a value head"),
        ({"output_bias": np.full_like(policy.output_bias, np.nan)}, "no numbers"),
        ({"biases": []}, "biases"),
    ]:
        with pytest.raises(ValueError, match=said):
            dataclasses.replace(policy, **changes)


def test_another_definition_of_a_block_is_noticed(tmp_path: Path) -> None:
    policy = random_policy()
    other = dict.fromkeys(policy.blocks, "0" * 8)
    write_policy(tmp_path / "a.policy", dataclasses.replace(policy, blocks=other))
    with pytest.raises(UserError, match=r"a\.policy"):
        read_policy(tmp_path / "a.policy")


def test_what_plays_needs_no_torch() -> None:
    program = (
        "import sys, nnuelab.policy.choice, nnuelab.policy.mover, nnuelab.policy.console;"
        "import nnuelab.policy.gif; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

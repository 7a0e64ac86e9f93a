"""A checkpoint takes no more memory than it has bytes, whatever it says."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch

from nnuelab.errors import UserError
from nnuelab.learning import checkpoint
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.report.inspect import inspect

MANY = 1 << 40


def laughs() -> dict[str, Any]:
    value: Any = [1.0] * 9
    for _ in range(40):
        value = [value, value]
    return {"a": value}


def without_end() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["a"] = value
    return value


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"a": torch.zeros(1).expand(MANY)}, "it repeats elements"),
        ({"a": torch.zeros(9).as_strided((9, 9), (1, 0))}, "it repeats elements"),
        ({"a": {"b": [torch.zeros(0).expand(MANY, 0), torch.zeros(1).expand(2)]}}, "elements"),
        ({"a": torch.sparse_coo_tensor([[0], [0]], [1.0], (1 << 20, 1 << 20))}, "sparse"),
        ({"a": torch.zeros(MANY, device="meta")}, "meta"),
        ({"a": torch.quantize_per_tensor(torch.zeros(9), 1.0, 0, torch.qint8)}, "qtensor"),
        ({"a": bytearray(9)}, "bytearray"),
        (laughs(), "it repeats values"),
        (without_end(), "it repeats values"),
        ([1], "list"),
    ],
)
def test_what_would_take_more_is_refused(tmp_path: Path, content: Any, reason: str) -> None:
    path = tmp_path / "a.pt"
    torch.save(content, path)
    for read in (inspect, Checkpoint.load, checkpoint.content_of):
        with pytest.raises(UserError, match="can't be read as a checkpoint") as error:
            read(path)
        assert reason in str(error.value.__cause__)


def test_dense_tensors_are_read(tmp_path: Path) -> None:
    whole = torch.arange(12.0).reshape(3, 4)
    content = {"a": OrderedDict(b=[whole, whole[1:, ::2], whole.T, torch.tensor(5), whole[:0]])}
    torch.save(content, tmp_path / "a.pt")
    found = checkpoint.content_of(tmp_path / "a.pt")["a"]["b"]
    assert [tensor.tolist() for tensor in found] == [
        tensor.tolist() for tensor in content["a"]["b"]
    ]
    assert inspect(tmp_path / "a.pt").kind == "checkpoint"


def test_a_tensor_larger_than_its_storage_is_refused(tmp_path: Path) -> None:
    saved = io.BytesIO()
    torch.save({"a": torch.zeros(1000)}, saved)
    path = tmp_path / "a.pt"
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            # The number of elements as pickle has it, of the storage or of the tensor, too.
            new.writestr(name, old.read(name).replace(b"M\xe8\x03", b"J\0\0\0\x40"))
    with pytest.raises(UserError, match="can't be read"):
        checkpoint.content_of(path)


def test_a_packed_checkpoint_is_refused(tmp_path: Path) -> None:
    saved = io.BytesIO()
    torch.save({"a": torch.zeros(100_000)}, saved)
    path = tmp_path / "a.pt"
    with (
        zipfile.ZipFile(saved) as old,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(UserError, match="can't be read") as error:
        checkpoint.content_of(path)
    assert "packed" in str(error.value.__cause__)


def test_other_files_of_torch_are_refused(tmp_path: Path) -> None:
    torch.save({"a": torch.zeros(3)}, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    (tmp_path / "pickle.pt").write_bytes(pickle.dumps({"a": 1}))
    for name in ("old.pt", "pickle.pt"):
        with pytest.raises(UserError, match="can't be read"):
            checkpoint.content_of(tmp_path / name)

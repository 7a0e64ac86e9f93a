"""The file of a checkpoint: tensors and plain types, whole or not at all, and told when damaged."""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from nnuelab import artifacts
from nnuelab.errors import UserError


@dataclass
class Running:
    """What is done of an epoch.

    Attributes
    ----------
    batches, samples : int
        Trained so far; the order of the rest follows from seed and epoch.
    loss : float
        Sum over these samples.
    seconds : float
    """

    batches: int = 0
    samples: int = 0
    loss: float = 0.0
    seconds: float = 0.0


def digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of all tensors: the same for the same net, whatever else is in the file."""
    found = hashlib.sha256()
    for name, tensor in sorted(_tensors(content)):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\0".encode())
        found.update(tensor.contiguous().numpy().tobytes())
    return found.hexdigest()


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of all that the file says, tensors or not."""
    rest = json.dumps(content, sort_keys=True, default=lambda tensor: None)
    return hashlib.sha256(f"{digest(content)} {rest}".encode()).hexdigest()


def write(path: Path, content: Mapping[str, Any], version: int) -> None:
    """Writes plain types and tensors, atomically; ``version`` is that of the content's layout."""
    whole = {"format": version, "checksum": checksum(content), **content}
    with artifacts.atomic(path) as temporary, temporary.open("wb") as file:
        try:
            torch.save(whole, file)
        except RuntimeError as error:  # torch's own, in place of that of a full disk
            told = error.__context__
            raise (told if isinstance(told, OSError) else OSError(errno.EIO, str(error))) from None


def read(path: Path | str, version: int) -> dict[str, Any]:
    """The content of a checkpoint.

    Raises
    ------
    UserError
        When there is none, or the file is damaged or something else.
    """
    try:
        content = torch.load(path, weights_only=True)
    except FileNotFoundError:
        raise UserError(f"there is no checkpoint {path}; make it with nnuelab train") from None
    except Exception as error:  # damaged bytes make torch and pickle raise whatever there is
        raise damaged(path, str(error).splitlines()[0] if str(error) else "empty") from error
    if not isinstance(content, dict) or content.pop("format", None) != version:
        raise damaged(path, "it is no checkpoint of this version")
    told = content.pop("checksum", None)
    try:
        found = checksum(content)
    except Exception as error:  # a tensor of another kind, or what is no tensor any more
        raise damaged(path, "its checksum can't be computed") from error
    if found != told:
        raise damaged(path, "its checksum doesn't match")
    return content


def damaged(path: Path | str, reason: str) -> UserError:
    """What to raise for a file that isn't usable."""
    return UserError(f"{path} can't be read as a checkpoint ({reason}); delete it and train again")


def _tensors(value: Any, name: str = "") -> list[tuple[str, torch.Tensor]]:
    """All tensors inside nested dicts and lists, with their paths."""
    if isinstance(value, torch.Tensor):
        return [(name, value)]
    if isinstance(value, dict):
        items = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, list | tuple):
        items = [(str(key), item) for key, item in enumerate(value)]
    else:
        return []
    return [found for key, item in items for found in _tensors(item, f"{name}/{key}")]

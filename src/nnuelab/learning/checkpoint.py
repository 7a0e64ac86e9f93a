"""Checkpoints: all that training needs to resume, or to make a net, in one file."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickletools
import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import torch

from nnuelab import artifacts, files
from nnuelab.errors import UserError, one_line
from nnuelab.features import FeatureSet, fingerprint, parse


@dataclass
class Running:
    """What is done of an epoch.

    Attributes
    ----------
    batches, samples : int
        Trained so far; the order of the rest follows from seed and epoch.
    loss : float
        Sum over these samples.
    """

    batches: int = 0
    samples: int = 0
    loss: float = 0.0


@dataclass(kw_only=True)
class RunState:
    """The state of a training run, whatever it trains; a subclass adds what its model needs.

    Attributes
    ----------
    feature_set : str
        Canonical expression.
    settings : dict
        Everything that the result depends on, for comparison; JSON types.
    epoch : int
        Whole epochs done.
    model, optimizer : dict
        State of the model and of its optimizer.
    generator : uint8 tensor
        State of the generator that the initial weights came from.
    history : list of dict
        A row of history.csv per epoch.
    files : dict
        Content of the files that the feature set names, by name.
    blocks : dict
        Fingerprint of each block's definition, by name.
    running : Running
        What is done of the next epoch.
    """

    FORMAT: ClassVar[int]  # version of the file

    feature_set: str
    settings: dict[str, Any]
    epoch: int
    model: dict[str, torch.Tensor]
    optimizer: dict[str, Any]
    generator: torch.Tensor
    history: list[dict[str, float]] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, str] = field(default_factory=dict)
    running: Running = field(default_factory=Running)

    def check_types(self) -> None:
        """Raises TypeError where a file has something else than the attributes should be."""
        for name, kind in _TYPES.items():
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"its {name} is no {kind.__name__}")
        for name, kind in _VALUES.items():
            if not all(isinstance(value, kind) for value in getattr(self, name).values()):
                raise TypeError(f"its {name} has something else than {kind.__name__}")

    @property
    def features(self) -> FeatureSet:
        """The feature set, as it was when training began."""
        return parse(self.feature_set, self.files)

    def digest(self) -> str:
        """SHA-256 of all tensors: the same for the same net, whatever else is in the file."""
        found = hashlib.sha256()
        for name, tensor in sorted(_tensors(vars(self))):
            found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\0".encode())
            found.update(tensor.contiguous().numpy().tobytes())
        return found.hexdigest()

    def checksum(self) -> str:
        """SHA-256 of all that the file says, tensors or not."""
        rest = json.dumps(self._content(), sort_keys=True, default=lambda tensor: None)
        return hashlib.sha256(f"{self.digest()} {rest}".encode()).hexdigest()

    def _content(self) -> dict[str, Any]:
        """The attributes as plain types; tensors, which may be large, are not copied."""
        return {**vars(self), "running": asdict(self.running)}

    def write(self, path: Path) -> None:
        """Writes the file, atomically: equal contents as equal bytes."""
        content = {"format": self.FORMAT, "checksum": self.checksum(), **self._content()}
        content = _canonical(content)
        with artifacts.atomic(path) as temporary, temporary.open("wb") as file:
            try:
                torch.save(content, file)
            except RuntimeError as error:  # torch's own, in place of that of a full disk
                told = error.__context__
                raise (
                    told if isinstance(told, OSError) else OSError(errno.EIO, str(error))
                ) from None

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Reads a checkpoint of a feature set whose blocks are still what they were.

        Raises
        ------
        UserError
            As `load` does, or when a block is not there or defined otherwise now.
        """
        checkpoint = cls.load(path)
        try:
            fingerprint.check(checkpoint.features, checkpoint.blocks)
        except UserError as error:
            raise type(error)(f"{path}: {error}") from error
        return checkpoint

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Reads a checkpoint, whatever has become of its blocks.

        Raises
        ------
        UserError
            When there is none, or the file is damaged or something else.
        """
        content = content_of(path)
        if content.pop("format", None) != cls.FORMAT:
            raise _damaged(path, "it is not a checkpoint of this version")
        checksum = content.pop("checksum", None)
        try:
            checkpoint = cls(**{**content, "running": Running(**content["running"])})
            checkpoint.check_types()
            found = checkpoint.checksum()
        except Exception as error:
            raise _damaged(path, "parts are missing or something else") from error
        if found != checksum:
            raise _damaged(path, "its checksum doesn't match")
        return checkpoint


_GLOBALS = re.compile(r"torch \w+Storage|torch\._utils _rebuild_tensor_v2|collections OrderedDict")
_TYPES: dict[str, type] = {
    **dict.fromkeys(("settings", "model", "optimizer", "files", "blocks"), dict),
    **{"feature_set": str, "epoch": int, "history": list, "generator": torch.Tensor},
}
_VALUES: dict[str, type] = {"model": torch.Tensor, "files": str, "blocks": str}


def content_of(path: Path | str) -> dict[str, Any]:
    """What is in a checkpoint, of whatever version or of another program that uses torch.

    It takes no more memory than the file has bytes.

    Raises
    ------
    UserError
        When there is none, or the file is damaged or something else.
    """
    try:
        files.require(path)
    except FileNotFoundError:
        raise UserError(f"there is no checkpoint {path}; make it with nnuelab train") from None
    except OSError as error:
        raise UserError(f"can't read the checkpoint {path}: {error.strerror}; name a .pt") from None
    try:
        files.check_archive(path)
        _check_globals(path)
        content = torch.load(path, map_location="cpu", weights_only=True)
        _check_size(content, os.path.getsize(path))
        if not isinstance(content, dict):
            raise TypeError(f"it is a {type(content)}")
    except Exception as error:
        # Damaged bytes make torch and pickle raise whatever there is, with advice that is none:
        # to load what a stranger's file would run.
        raise _damaged(path, "it holds something else, or is damaged") from error
    return content


def _check_globals(path: Path | str) -> None:
    """Raises ValueError where the file is made of more than numbers, texts and dense tensors.

    What else torch would make of a file (sparse tensors, those without storage, arrays of bytes)
    takes the memory that the file says.
    """
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".pkl"):
                for operation, argument, _ in pickletools.genops(archive.read(name)):
                    if operation.name == "GLOBAL" and not _GLOBALS.fullmatch(str(argument)):
                        raise ValueError(f"it has a {argument}")


def _check_size(content: Any, most: int) -> None:
    """Raises ValueError where there are more values than bytes, or more in a tensor than stored."""
    left = [content]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list | tuple):
            left += value
        elif isinstance(value, torch.Tensor) and value.nbytes > value.untyped_storage().nbytes():
            raise ValueError("it repeats elements")
        most -= 1
        if len(left) > most:
            raise ValueError("it repeats values")


@contextmanager
def consistent(path: Path | str = "the checkpoint") -> Iterator[None]:
    """What parts of a checkpoint raise that don't fit each other, as a UserError."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as e:
        raise UserError(
            f"the parts of {path} don't fit each other ({one_line(e)[:200]}); delete it and train "
            "again"
        ) from e


def _damaged(path: Path | str, reason: str) -> UserError:
    return UserError(f"{path} can't be read as a checkpoint ({reason}); delete it and train again")


def _canonical(value: Any) -> Any:
    """Equal values as equal objects: pickle writes a string once for all places that share it.

    So what was read from a file would be pickled otherwise than what was made here.
    """
    if isinstance(value, dict):
        return {_canonical(key): _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_canonical, value))
    return sys.intern(value) if type(value) is str else value


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


def set_aside(partial: Path, different: str) -> None:
    """Keeps an unfinished run of other settings, which are named, from being overwritten."""
    aside = partial.with_name(partial.name + ".old")
    os.replace(partial, aside)
    print(
        f"{partial} is of an unfinished run with other settings ({different}); "
        f"it is {aside} from now on",
        file=sys.stderr,
    )

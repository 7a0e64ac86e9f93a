"""What an unfinished run of tuning needs to go on, in one file beside its output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab import artifacts, files, json_text
from nnuelab.errors import UserError

FORMAT = 1


def beside(output: Path) -> Path:
    """Where the checkpoint of a run lies."""
    return output.with_name(output.name + ".partial")


def write(path: Path, settings: dict[str, Any], progress: dict[str, Any]) -> None:
    """Writes it, atomically.

    Parameters
    ----------
    settings : dict
        All that the result depends on; JSON types.
    progress : dict
        Arrays, and JSON types, by name.
    """
    arrays: dict[str, Any] = {n: v for n, v in progress.items() if isinstance(v, np.ndarray)}
    rest = {name: value for name, value in progress.items() if name not in arrays}
    head = json.dumps({"format": FORMAT, "settings": settings, "progress": rest}).encode()
    with artifacts.atomic(path) as temporary, temporary.open("wb") as file:
        np.savez(file, head_json=np.frombuffer(head, np.uint8), **arrays)


def read(path: Path, settings: dict[str, Any]) -> dict[str, Any] | None:
    """What :func:`write` was given, or None when there is no file.

    Raises
    ------
    UserError
        When the file is damaged, or is of a run with other settings.
    """
    try:
        files.check_archive(path)
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        head = json_text.load(arrays.pop("head_json").tobytes())
        before, progress = head["settings"], head["progress"]
        if head["format"] != FORMAT:
            raise ValueError("another version")
    except FileNotFoundError:
        return None
    except Exception as error:
        # Damaged bytes make zipfile and numpy, which parses headers as Python, raise what there is.
        raise damaged(path) from error
    if different := ", ".join(
        sorted(k for k in {*before, *settings} if before.get(k) != settings.get(k))
    ):
        raise UserError(
            f"{path} is of an unfinished run with other settings ({different}); run that one to "
            "its end, delete the file, or choose another output"
        )
    return {**progress, **arrays}


def damaged(path: Path) -> UserError:
    """What to say of one that can't be read, or whose parts don't fit each other."""
    return UserError(f"{path} can't be read as the checkpoint of a run; delete it and tune again")

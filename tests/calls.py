"""Calls of nnuelab as help and pages show them; they are parsed, not made."""

from __future__ import annotations

import shlex
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import typer

from nnuelab import features
from nnuelab.cli.__main__ import application

GROUP: Any = typer.main.get_command(application())
OF_THE_SHELL = "<", ">", "|", "&&", "#"
FOLDERS = "results", "results-tiny"  # the only paths that are looked at while a call is parsed


def arguments(call: str) -> list[str]:
    """What the program gets; nothing where the call is of another one."""
    words = shlex.shlex(call, posix=True)
    words.whitespace_split, words.commenters = True, ""  # which would cut ALL#1
    if next(words, "") != "nnuelab":
        return []
    return list(takewhile(lambda word: word not in OF_THE_SHELL, words))


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """The command or group that a call names, and the words that are left for it."""
    command = GROUP
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    return command, words


def parse(words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the command's own parser read a call, in a folder where files of blocks are no matter.

    Raises
    ------
    UsageError (click's)
        When the command doesn't take these words: an option that there isn't, a value out of range.
    """
    for name in FOLDERS:
        (folder / name).mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(features, "add_files", lambda files: None)
    command, rest = command_of(words)
    command.make_context(command.name, list(rest))

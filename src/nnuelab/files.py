"""Files that a user names: looked at before they are read, since not all end, or let one begin.

A device such as /dev/zero has no end, and a pipe that nobody writes to no beginning.
"""

from __future__ import annotations

import errno
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from nnuelab.errors import UserError

LONGEST_LINE = 1 << 24  # bytes, or characters
SMALL = 64 << 20  # bytes; what a person writes by hand, and a program as text, has far fewer


def require(path: Path | str) -> None:
    """Raises OSError, with a ``strerror`` for a message, unless a path is that of a file."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file", str(path))


def content(path: Path | str, most: int | None = None) -> bytes:
    """The bytes of a file; OSError, with a ``strerror``, where it is none or has more than most."""
    require(path)
    if most is not None and (size := os.path.getsize(path)) > most:
        text = f"it has {size >> 20:,} MB, more than the {most >> 20} of any such file"
        raise OSError(errno.EFBIG, text, str(path))
    return Path(path).read_bytes()


def check_archive(path: Path | str) -> None:
    """Checks that a zip archive has no more bytes than its file: else a small one fills the memory.

    Raises
    ------
    ValueError
        When it has. A damaged archive raises what `zipfile` does.
    """
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > os.path.getsize(path):
            raise ValueError("it is packed")


def check(path: Path | str) -> None:
    """Raises UserError unless there is a file of that name."""
    try:
        require(path)
    except FileNotFoundError:
        raise UserError(f"there is no file {path}; check its name") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder; name one of the files in it") from None
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror}; name a file") from None


def lines(stream: TextIO, name: str) -> Iterator[str]:
    """The lines of an open text, as they come; UserError for one longer than LONGEST_LINE."""
    while line := stream.readline(LONGEST_LINE + 1):
        check_length(line, name)
        yield line


def check_length(line: str | bytes, name: Path | str) -> None:
    """Raises UserError for a line, or the beginning of one, that is longer than LONGEST_LINE."""
    if len(line) > LONGEST_LINE:
        raise UserError(
            f"{name} has a line of more than {LONGEST_LINE >> 20} MB; give a file of text"
        )

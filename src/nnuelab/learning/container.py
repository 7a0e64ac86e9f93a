"""Files of arrays: magic, version, a JSON header, the arrays, a checksum; all little-endian.

====================  =============================================================================
magic                 8 bytes
version               uint32, the version of the layout
length                uint32, bytes of the header
header                UTF-8 JSON, whose ``arrays`` lists (name, dtype, shape)
arrays                one after another in the order of that list, C order, no padding
sha256                32 bytes, over everything before
====================  =============================================================================
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab import files, json_text
from nnuelab.errors import UserError

LIES = (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError)
"""What reading a file raises whose header lies, or has other things than it should."""
PREFIX = 16  # bytes before the header
CHECKSUM = 32


def listed(arrays: Mapping[str, np.ndarray]) -> list[list[Any]]:
    """What a header says of arrays."""
    return [
        [name, f"<{array.dtype.kind}{array.itemsize}", list(array.shape)]
        for name, array in arrays.items()
    ]


def packed(
    magic: bytes, version: int, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> bytes:
    """The bytes of a file. The same content gives the same bytes.

    Parameters
    ----------
    header : mapping
        With ``arrays``: `listed` of them.
    arrays : mapping of str to ndarray
    """
    text = json.dumps(dict(header), indent=1, ensure_ascii=False, allow_nan=False).encode()
    body = magic + struct.pack("<II", version, len(text)) + text
    body += b"".join(array.tobytes() for array in arrays.values())
    return body + hashlib.sha256(body).digest()


def unpacked(
    content: bytes, version: int, known: Mapping[str, Collection[str]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a file whose magic has been seen.

    Parameters
    ----------
    known : mapping of str to collection of str
        The dtypes of each array that there may be, as in a header.

    Raises
    ------
    ValueError
        When it is truncated, damaged, of another version, or has other arrays. A header that lies
        may raise KeyError, TypeError and others, too.
    """
    if len(content) < PREFIX + CHECKSUM:
        raise ValueError(f"it is truncated ({len(content)} bytes)")
    found, length = struct.unpack_from("<II", content, PREFIX - 8)
    if found != version:
        raise ValueError(f"its format has version {found}, this program reads {version}")
    if hashlib.sha256(content[:-CHECKSUM]).digest() != content[-CHECKSUM:]:
        raise ValueError("its checksum doesn't match (truncated or damaged)")
    text = content[PREFIX : PREFIX + length]
    header = json.loads(text, parse_constant=json_text.no_number)
    arrays, offset = {}, PREFIX + length
    for name, dtype, shape in header["arrays"]:
        if dtype not in known.get(name, ()):
            raise ValueError(f"it has an unknown array {name} of type {dtype}")
        flat = np.frombuffer(content, dtype, math.prod(shape), offset)
        arrays[name] = flat.reshape(shape).copy()
        offset += flat.nbytes
    if offset != len(content) - CHECKSUM:
        raise ValueError(f"it has {len(content) - CHECKSUM - offset} bytes after its arrays")
    return header, arrays


def content_of(path: Path, what: str, endings: str) -> bytes:
    """The bytes of a file; UserError when there is none."""
    try:
        return files.content(path)
    except OSError as error:
        raise UserError(
            f"can't read the {what} {path}: {error.strerror}; give the path of a {endings} file"
        ) from error


@contextmanager
def usable(path: Path, what: str, command: str) -> Iterator[None]:
    """What goes wrong while a file is understood, as a UserError that names it.

    Parameters
    ----------
    what : str
        That the file should be.
    command : str
        Which makes it.
    """
    try:
        yield
    except LIES as error:
        reason = str(error) if isinstance(error, ValueError) else f"bad header ({error!r})"
        raise UserError(
            f"{path} is not a usable {what}: {reason}; make it again with {command}"
        ) from error
    except UserError as error:
        raise type(error)(f"{path}: {error}") from error

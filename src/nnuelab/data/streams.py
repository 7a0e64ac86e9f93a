"""Files of text, plain or compressed, as a stream: memory doesn't grow with the file."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from nnuelab.errors import UserError
from nnuelab.files import check_length

BLOCK = 1 << 15  # bytes read at once
# Eight bytes of zstandard may unpack to 128 KB, and the library returns all at once: so its input
# comes in small pieces, in tiny ones while they expand that much.
FEWEST, MOST = 16, 1024  # bytes
UNPACKED = 1 << 20  # bytes that a piece may give
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def lines(path: Path | str) -> Iterator[bytes]:
    """The lines of a file, each with its line end; .zst, .gz and .bz2 are unpacked on the way.

    Raises
    ------
    UserError
        When the file is missing, unreadable, cut off, damaged, or UTF-16, or a line is longer than
        `files.LONGEST_LINE`.
    """
    waiting: list[bytes] = []
    length = wanted = 0
    for block in blocks(path):
        waiting.append(block)
        length += len(block)
        if length < wanted:
            continue
        whole = b"".join(waiting).splitlines(keepends=True)
        # A line may go on in the next block, and so may its "\r\n".
        rest = whole.pop() if whole else b""
        yield from whole
        check_length(rest, path)
        # Twice as much before it is looked at again: a long line takes time as its length.
        waiting, length, wanted = [rest], len(rest), 2 * len(rest)
    yield from b"".join(waiting).splitlines(keepends=True)


def blocks(path: Path | str) -> Iterator[bytes]:
    """The bytes of a file, unpacked, as they come; without a byte-order mark.

    Raises
    ------
    UserError
        When the file is missing, unreadable, cut off, damaged, or UTF-16.
    """
    path = Path(path)
    try:
        for number, block in enumerate(_blocks(path)):
            if number == 0:
                if block[:2] in (b"\xff\xfe", b"\xfe\xff"):
                    raise UserError(f"{path} is UTF-16; convert it: iconv -f UTF-16 -t UTF-8")
                block = block.removeprefix(BYTE_ORDER_MARK)
            yield block
    except FileNotFoundError:
        raise UserError(f"there is no file {path}; check its name") from None
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise UserError(
            f"{path} is cut off or damaged ({error}); fetch or copy it again"
        ) from error
    except OSError as error:
        if "data stream" in str(error):  # what bz2 says of damaged data
            raise UserError(f"{path} is damaged ({error}); fetch or copy it again") from error
        raise UserError(f"can't read {path}: {error.strerror or error}; check its name") from error


def _blocks(path: Path) -> Iterator[bytes]:
    with ExitStack() as stack:
        raw: BinaryIO = stack.enter_context(open(path, "rb"))
        suffix = path.suffix.lower()
        if suffix == ".zst":
            yield from _zstandard(raw)
            return
        opened: Any = raw
        if suffix == ".gz":
            opened = stack.enter_context(gzip.open(raw))
        elif suffix == ".bz2":
            opened = stack.enter_context(bz2.open(raw))
        while block := opened.read(BLOCK):
            yield block


def _zstandard(raw: BinaryIO) -> Iterator[bytes]:
    """Zstandard frames, one after the other (Lichess' files have many).

    The library's own stream reader takes the end of a truncated file for the end of the data;
    here a frame that isn't complete raises EOFError.
    """
    # Long windows (zstd --ultra, --long) need more memory than the library allows by itself.
    unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 31)
    decoder = None
    left = memoryview(b"")
    step = FEWEST
    while block := left or memoryview(raw.read(BLOCK)):
        left = block[step:]
        if decoder is None:
            decoder = unpacker.decompressobj()
        data = decoder.decompress(block[:step])
        if data:
            yield data
        if len(data) > UNPACKED:
            step = max(step // 4, FEWEST)
        elif 0 < len(data) < UNPACKED // 4:
            step = min(2 * step, MOST)
        if decoder.eof:
            left, decoder = memoryview(decoder.unused_data + bytes(left)), None
    if decoder is not None:
        raise EOFError("the last zstandard frame is incomplete")

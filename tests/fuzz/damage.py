"""Damages: bytes that something has happened to, at random or where their format has a joint."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import math
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import yaml
import zstandard

from nnuelab.learning import container
from nnuelab.learning.checkpoint import Running, RunState

Rng = np.random.Generator

DEEP = "deep"  # a value in place of which a text has BRACKETS
BRACKETS = "[" * 20_000 + "]" * 20_000
MUCH = 600 << 20  # bytes that a small file asks for
TOKENS = (
    *(b"\0", b"\xff" * 8, b"\n", b"\r\n", b"\x1b[31m", b'"', b"'", b",", b"[" * 200, b"{" * 200),
    *(BRACKETS.encode(), b"{" * 20_000),
    *(b"-1", b"0", b"nan", b"inf", b"1e400", b"9" * 40, b"\xef\xbb\xbf", b"&a [*a]", b"x" * 5000),
    *(b"8/8/8/8/8/8/8/8 w - - 0 1", b"[Event", b"1-0", b"0000", b"e7e8q", b"--", b" { ( ", b"\f"),
    *(b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08", b"BZh9", b"PK\x03\x04", b"\x93NUMPY", b"BINP", b"\x80"),
    *(b"\x7f" * 4, b"\x80\0\0\0", b"\0\0\0\x80", b"\xff\xff\xff\x7f", b"\xff\xff"),
)
ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 7, 65535, 2**31, 2**63, 2**64, 10**30, 0.5, 1e308, 1e-320),
    *(math.inf, math.nan, "", " ", "0", "-1", "x" * 5000, "\0", "\x1b[31m", "é\u2028", "../../x"),
    *("ALL", "H+V", "KING*ALL", "ALL*ALL*ALL", "ALL*", "nowhere.py", [], {}, [[]], {"a": 1}, [0]),
    DEEP,
)


def of_bytes(rng: Rng, content: bytes, other: bytes) -> bytes:
    """One or more of: bits flipped, zeroed, overwritten, cut, repeated, grown, spliced."""
    data = bytearray(content)
    for _ in range(rng.geometric(0.6)):
        at = int(rng.integers(len(data) + 1))
        length = int(2 ** rng.uniform(0, 10))
        some = slice(at, at + length)
        match rng.integers(9):
            case 0:
                for place in rng.integers(max(len(data), 1), size=rng.integers(1, 9)):
                    if data:
                        data[place] ^= 1 << rng.integers(8)
            case 1:
                data[some] = bytes(len(data[some]))
            case 2:
                data[some] = rng.bytes(len(data[some]))
            case 3:
                del data[at:]
            case 4:
                del data[some]
            case 5:
                data[at:at] = data[some] * int(rng.integers(1, 4))
            case 6:
                start = int(rng.integers(len(other) + 1))
                data[at:] = other[start:]
            case 7:
                data += bytes(length) if rng.integers(2) else rng.bytes(length)
            case _:
                token = TOKENS[rng.integers(len(TOKENS))]
                data[at : at + len(token) * int(rng.integers(2))] = token
    return bytes(data)


def of_records(size: int, start: int) -> Callable[[Rng, bytes], bytes]:
    """Of an array of records behind a header: the same bytes of many of them."""

    def damage(rng: Rng, content: bytes) -> bytes:
        whole = (len(content) - start) // size
        rows = np.frombuffer(content, np.uint8, whole * size, start).reshape(whole, size).copy()
        column = int(rng.integers(size))
        columns = slice(column, column + int(2 ** rng.uniform(0, 4)))
        chosen = rng.random(whole) < rng.choice([1.0, 0.5, 0.05])
        part = rows[chosen, columns]
        match rng.integers(4):
            case 0:
                part ^= np.uint8(1 << rng.integers(8))
            case 1:
                part[:] = rng.choice([0, 0x7F, 0x80, 0xFF])
            case 2:
                part[:] = rng.integers(256, size=part.shape)
            case _:
                part[:] = part[rng.permutation(len(part))]
        rows[chosen, columns] = part
        return content[:start] + rows.tobytes() + content[start + whole * size :]

    return damage


def altered(rng: Rng, value: Any) -> Any:
    """A value with something in it replaced, left out, named otherwise or repeated."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        keys = list(value)
        key = keys[rng.integers(len(keys))]
        if (choice := rng.random()) < 0.08:
            return {name: value[name] for name in keys if name != key}
        if choice < 0.12:
            return {("odd" if name == key else name): value[name] for name in keys}
        return {**value, key: altered(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = int(rng.integers(len(value)))
        if (choice := rng.random()) < 0.1:
            return value[:place] + value[place + 1 :]
        if choice < 0.2:
            return value + value[place:]
        return [*value[:place], altered(rng, value[place]), *value[place + 1 :]]
    if isinstance(value, torch.Tensor):
        return _of_tensor(rng, value)
    if isinstance(value, int | float) and rng.random() < 0.3:
        return value * int(rng.choice([-1, 2, 1000, 10**9]))
    if isinstance(value, str) and rng.random() < 0.5:
        return of_bytes(rng, value.encode(), b"").decode("utf-8", "surrogateescape")
    return ODD[rng.integers(len(ODD))]


def _of_tensor(rng: Rng, tensor: torch.Tensor) -> torch.Tensor:
    changed = tensor.clone()
    match rng.integers(5):
        case 0:
            return changed.double() * float(rng.choice([1e30, math.nan, math.inf, -1000.0]))
        case 1:
            return changed[:-1] if changed.dim() and len(changed) else torch.zeros(3)
        case 2:
            return changed.reshape(1, *changed.shape)
        case 3:
            return torch.zeros(0)
        case _:
            return changed.to(torch.int16)


def of_json(rng: Rng, content: bytes) -> bytes:
    """A value of a JSON file."""
    text = json.dumps(altered(rng, json.loads(content)))
    return _text(text.replace(f'"{DEEP}"', BRACKETS))


def of_json_lines(rng: Rng, content: bytes) -> bytes:
    """A value of a line of JSON."""
    lines = content.splitlines()
    place = int(rng.integers(len(lines)))
    lines[place] = of_json(rng, lines[place])
    return b"\n".join([*lines, b""])


def of_part(rng: Rng, content: bytes) -> bytes:
    """A line of a part of games; the checksum is right again."""
    *lines, _ = content.splitlines(keepends=True)
    body = of_json_lines(rng, b"".join(lines))
    return body + hashlib.sha256(body).hexdigest().encode() + b"\n"


def of_yaml(rng: Rng, content: bytes) -> bytes:
    """A value of a YAML file."""
    text = yaml.safe_dump(altered(rng, yaml.safe_load(content)), allow_unicode=True)
    return _text(text.replace(DEEP, BRACKETS))


def _text(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def of_lines(rng: Rng, content: bytes) -> bytes:
    """Words and lines of a text: replaced, moved, repeated, left out."""
    lines = content.splitlines(keepends=True)
    for _ in range(rng.geometric(0.5)):
        if not lines:
            break
        place, other = (int(rng.integers(len(lines))) for _ in range(2))
        match rng.integers(5):
            case 0:
                del lines[place]
            case 1:
                lines.insert(other, lines[place])
            case 2:
                lines[place] = lines[place].rstrip(b"\r\n")
            case _:
                comma = b"," in lines[place] and rng.integers(2)
                words = lines[place].split(b"," if comma else b" ")
                odd = rng.choice([str(v) for v in ODD]).encode("utf-8", "surrogateescape")
                found = odd if rng.integers(2) else TOKENS[rng.integers(len(TOKENS))]
                words[rng.integers(len(words))] = found
                lines[place] = (b"," if comma else b" ").join(words)
    return b"".join(lines)


def of_container(rng: Rng, content: bytes) -> bytes:
    """The header of a file of arrays, or its arrays; the checksum is right again."""
    length = struct.unpack_from("<I", content, container.PREFIX - 4)[0]
    end = container.PREFIX + length
    header = content[container.PREFIX : end]
    arrays = content[end : -container.CHECKSUM]
    if rng.random() < 0.8:
        header = of_json(rng, header)
    else:
        arrays = of_bytes(rng, arrays, arrays)
    start = content[: container.PREFIX - 4] + struct.pack("<I", len(header))
    body = start + header + arrays
    return body + hashlib.sha256(body).digest()


def of_checkpoint(kind: type[RunState]) -> Callable[[Rng, bytes], bytes]:
    """A value or a tensor of a checkpoint; the checksum is right again where there can be one."""

    def damage(rng: Rng, content: bytes) -> bytes:
        state = altered(rng, torch.load(io.BytesIO(content), weights_only=True))
        try:
            rest = {name: state[name] for name in state if name not in ("format", "checksum")}
            state["checksum"] = kind(**{**rest, "running": Running(**rest["running"])}).checksum()
        except Exception:
            pass  # then the old one stays
        written = io.BytesIO()
        torch.save(state, written)
        return written.getvalue()

    return damage


def of_tensors(rng: Rng, content: bytes) -> bytes:
    """Tensors of a checkpoint that are more than what the file has of them."""
    state = torch.load(io.BytesIO(content), weights_only=True)
    name = list(state["model"])[rng.integers(len(state["model"]))]
    match rng.integers(3):
        case 0:
            tensor = torch.zeros(1).expand(MUCH // 4)
        case 1:
            tensor = torch.sparse_coo_tensor(torch.zeros(1, 1), torch.ones(1), (MUCH // 4,))
        case _:
            tensor = torch.zeros(MUCH // 4, device="meta")
    state["model"][name] = tensor
    written = io.BytesIO()
    torch.save(state, written)
    return written.getvalue()


def of_packing(rng: Rng, content: bytes) -> bytes:
    """A member of an archive has many zeros, packed; an array has as many as it says."""
    written = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new,
    ):
        names = old.namelist()
        chosen = names[rng.integers(len(names))]
        for name in names:
            with new.open(name, "w") as file:
                if name != chosen or not name.endswith(".npy"):
                    file.write(old.read(name))
                else:
                    told = {"descr": "|u1", "fortran_order": False, "shape": (MUCH,)}
                    np.lib.format.write_array_header_1_0(file, told)
                if name == chosen:
                    for _ in range(MUCH >> 20):
                        file.write(bytes(1 << 20))
    return written.getvalue()


def of_zip(rng: Rng, content: bytes) -> bytes:
    """A member of an archive, whose checksum is right again."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(written, "w") as new:
        names = old.namelist()
        chosen = names[rng.integers(len(names))]
        for name in names:
            member = old.read(name)
            new.writestr(name, of_bytes(rng, member, member) if name == chosen else member)
    return written.getvalue()


def within(ending: str) -> Callable[[Rng, bytes], bytes]:
    """What is packed, packed again."""
    pack, unpack = {
        ".zst": (zstandard.compress, lambda c: zstandard.ZstdDecompressor().decompress(c)),
        ".gz": (gzip.compress, gzip.decompress),
        ".bz2": (bz2.compress, bz2.decompress),
    }[ending]

    def damage(rng: Rng, content: bytes) -> bytes:
        inner = unpack(content)
        return pack(of_lines(rng, inner) if rng.integers(2) else of_bytes(rng, inner, inner))

    return damage


@dataclass(frozen=True)
class Damage:
    """What may happen to files of a kind: at their joints half of the time, else anywhere."""

    joints: tuple[Callable[[Rng, bytes], bytes], ...] = ()

    def __call__(self, rng: Rng, content: bytes, other: bytes) -> bytes:
        if self.joints and rng.random() < 0.6:
            content = self.joints[rng.integers(len(self.joints))](rng, content)
            if rng.random() < 0.8:
                return content
        return of_bytes(rng, content, other)

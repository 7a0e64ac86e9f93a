"""Which build of the kernels a process runs, and where its machine code is kept.

``NNUELAB_CHECKED=1`` selects a build that checks the bounds of every array access,
``NNUELAB_WITHOUT`` one without terms of the search (engine.terms), ``NNUELAB_SIMD`` one for another
CPU; numba's own variables (``NUMBA_CACHE_DIR``...) keep their meaning.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np
import platformdirs
from numba.core import caching

from nnuelab import sources
from nnuelab.errors import UserError

CHECKED = os.environ.get("NNUELAB_CHECKED", "0") == "1"
WITHOUT = tuple(filter(None, os.environ.get("NNUELAB_WITHOUT", "").split(",")))
_CHECKSUM = hashlib.sha256().digest_size
UNUSED_DAYS = 30  # after which kernels of another state of the sources are removed


SIMD_PATHS = {
    "avx512": ("avx512f", "avx512bw", "avx512vl", "avx512vnni"),
    "vnni256": ("avx2", "avx512vl", "avx512vnni"),
    "avx2": ("avx2",),
    "portable": (),
}
"""Ways through the vector kernels, best first, and the CPU features that each needs."""


def _simd_path() -> str:
    """The best path of this CPU, or the one that ``NNUELAB_SIMD`` names; all give the same bits."""
    features = llvmlite.binding.get_host_cpu_features()
    usable = [path for path, needs in SIMD_PATHS.items() if all(features.get(n) for n in needs)]
    chosen = os.environ.get("NNUELAB_SIMD", usable[0])
    if chosen not in usable:
        raise UserError(
            f"NNUELAB_SIMD is {chosen!r}, this CPU can do {', '.join(usable)}; unset it"
        )
    return chosen


SIMD = _simd_path()
VBMI2 = SIMD == "avx512" and all(
    llvmlite.binding.get_host_cpu_features().get(name) for name in ("avx512vbmi", "avx512vbmi2")
)
"""Whether bytes of 64 can be permuted and compressed at once: not on the first CPUs of AVX-512."""


# numba's own cache only notices an edit of the file that a function is in, not of its callees or
# constants in other files: a cached caller would keep the old ones inside.

_BUILD = f"{numba.__version__} {np.__version__} {CHECKED} {SIMD}"
_TERMS = sources.PACKAGE / "engine" / "terms.py"  # which alone reads WITHOUT


def _cache() -> Path:
    """Where the folders of kernels are."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    return (
        Path(given, "nnuelab") if given else Path(platformdirs.user_cache_dir("nnuelab"), "kernels")
    )


@cache
def kernels_of(file: Path) -> Path:
    """The folder of a file's compiled functions: one for each state of all that they are made of.

    Of files of the package wherever it lies; others are known to Python by their place.
    """
    place = "" if file.is_relative_to(sources.PACKAGE) else str(file)
    files = sources.closure_of_file(file)
    without = ",".join(WITHOUT) if _TERMS in files else ""
    return _cache() / f"{file.stem}-{sources.content_hash(files, _BUILD, without, place)}"


def _use(folder: Path) -> None:
    """Marks a folder of kernels as used; a new one comes with the removal of long unused ones.

    Other processes may do the same at once: what is gone already, or can't be removed, is left.
    """
    with suppress(OSError):
        if folder.exists():
            os.utime(folder)
            return
        folder.mkdir(parents=True, exist_ok=True)
        for other in folder.parent.iterdir():
            if other != folder and time.time() - other.stat().st_mtime > UNUSED_DAYS * 86400:
                shutil.rmtree(other, ignore_errors=True)


class _Checked(caching.IndexDataCacheFile):
    """numba's files of a function with checksums: what is damaged is compiled anew.

    A power cut leaves them empty or half, and a bit turned in machine code can do anything.
    """

    def save(self, key: Any, data: Any) -> None:
        """What can't be kept, on a full disk or in a folder that is just removed, isn't."""
        with suppress(OSError):
            super().save(key, data)

    def _load_index(self) -> dict[Any, str]:
        with suppress(OSError):
            made_by, names = self._load_data(self._index_name)
            if made_by == self._made_by:
                return names
        return {}

    def _save_index(self, names: dict[Any, str]) -> None:
        self._save_data(self._index_name, (self._made_by, names))

    @property
    def _made_by(self) -> tuple[str, str]:
        return self._version, self._source_stamp

    def _load_data(self, name: str) -> Any:
        """Raises OSError, which numba takes for a file that is gone."""
        content = Path(self._data_path(name)).read_bytes()
        checksum, data = content[:_CHECKSUM], content[_CHECKSUM:]
        if hashlib.sha256(data).digest() != checksum:
            raise OSError(f"{name} is damaged")
        return pickle.loads(data)

    def _save_data(self, name: str, data: Any) -> None:
        pickled = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(pickled).digest() + pickled)


class Locator:
    """Tells numba where it keeps the compiled versions of a function."""

    def __init__(self, folder: Path, line: int) -> None:
        self._folder, self._line = folder, line

    @classmethod
    def from_function(cls, function: Any, file: str) -> Locator | None:
        """None for what was typed at a prompt, and where nothing can be written."""
        path = Path(file).resolve()
        if not path.is_file():
            return None
        folder = kernels_of(path)
        _use(folder)
        return cls(folder, function.__code__.co_firstlineno) if folder.is_dir() else None

    def get_cache_path(self) -> str:
        """Its folder."""
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        """Makes it once more where another process has removed it."""
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        """Nothing more: a folder is of one state of the sources."""
        return ""

    def get_disambiguator(self) -> str:
        """Tells functions of one name in a file apart."""
        return str(self._line)


caching.IndexDataCacheFile = _Checked
numba.config.CACHE_LOCATOR_CLASSES = f"{__name__}.Locator,UserWideCacheLocator,IPythonCacheLocator"

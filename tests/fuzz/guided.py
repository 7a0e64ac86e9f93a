"""Files of one kind, guided by what code they reach: ``python -m tests.fuzz.guided KIND FOLDER``.

libFuzzer (atheris, to be installed by hand) mutates sound files, and keeps in FOLDER those that
reach code of nnuelab that no file before has reached. Kernels that numba compiles aren't watched.
Ends with the first finding, or by ``-max_total_time=SECONDS`` and other options of libFuzzer. Files
are damaged as they come: for arrays in a container with checksums `tests.fuzz.storm` finds more.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

SOURCE = Path(__file__).parents[2] / "src"


def compiled() -> list[str]:
    """The modules that have functions for numba, which can't be watched."""
    files = [file for file in sorted(SOURCE.rglob("*.py")) if "jit" in file.read_text()]
    names = (".".join(file.relative_to(SOURCE).with_suffix("").parts) for file in files)
    return [name.removesuffix(".__init__") for name in names]


with atheris.instrument_imports(include=["nnuelab"], exclude=compiled()):
    from tests.fuzz import corpus
    from tests.fuzz.readers import KINDS, Case


def main(kind: str, folder: Path, *options: str) -> None:
    """Reads files until one of them is a finding."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        if not folder.is_dir():
            corpus.make(scratch / "corpus", scratch / "project")
            folder.mkdir(parents=True)
            for file in (scratch / "corpus").glob(f"*.{kind}"):
                file.rename(folder / file.name)

        def read(content: bytes) -> None:
            now = scratch / f"now.{kind}"
            now.write_bytes(content)
            case = Case(now, KINDS[kind].readers)
            case.run()
            assert not case.finding, case.finding

        atheris.Setup([sys.argv[0], str(folder), *options], read)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])

"""The tiny chain after its first run, in a folder with a block of the user's own."""

from __future__ import annotations

import re

from tests.workflow.project import Folder, ran, tiny_project

NETS = ("train", "quantize", "verify")
GAMES = ("puzzles", "tournament", "rate", "table")
CHAIN = {"download", "sample", "label", "count", "cost", *NETS, *GAMES}

# A feature block of a user's own, outside the package.
BLOCK = '''
from nnuelab.features import COLORS, ROLES, Concept, file_of, piece_square

WINGS = Concept("WINGS", ("queenside", "kingside"))


@piece_square("WING", WINGS, ROLES, COLORS)
def wing(square, role, color):
    """A piece of role r and colour c stands on a wing."""
    return file_of(square) // 4, role, color
'''


def first_run(folder):
    """The project at tiny scale with a block of the user's own, after its first run."""
    with tiny_project(folder) as (path, settings):
        experiments = settings["experiments"]
        experiments["axis"]["feature_sets"] = ["ALL", "H*WING"]
        variants = experiments["pqr"]["variants"]
        experiments["pqr"]["variants"] = {name: variants[name] for name in ("scores", "tuned")}
        del experiments["pqr"]["spreads"]
        settings["blocks"] = ["wing.py"]
    (path / "wing.py").write_text(BLOCK)
    folder = Folder(path)
    folder.git("init", "--quiet")
    folder.commit()
    first = folder.run("snakemake")
    assert ran(first) == CHAIN
    last = re.search(
        r"^Next: ./run report.*\nresults/axis_table.csv: ((.*\n)+)\Z", first, re.MULTILINE
    )
    assert "H*WING" in last[1]
    folder.commit()
    return folder


def rerun_by_edit(folder, edited, *targets):
    """Rules that an edit of a file of the package makes run again."""
    path = folder.path / edited
    before = path.read_bytes()
    path.write_bytes(before + b"\n# edited\n")
    try:
        return set(folder.would_run(*targets, PYTHONPATH=str(folder.path / "src")))
    finally:
        path.write_bytes(before)

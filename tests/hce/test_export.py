"""Tables for other engines: compiled by C and Rust they hold the numbers of the evaluation."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from nnuelab.errors import UserError
from nnuelab.features.concepts import ROLE_NAMES, SQUARES
from nnuelab.hce import evaluation, export, grids
from nnuelab.hce.evaluation import Evaluation

TERMS = """
name: "tables of all\\\\"
terms:
  material: {features: OWN, by: [ROLES]}
  tempo: {features: OWN, by: [], mg: -20000, eg: 20000}
  piece square: {features: OWN}
  folded: {features: OWN, by: [ROLES, RANKS, FILES], mirror: true}
  transposed: {features: ALL, by: [FILES, RANKS, COLORS]}
  7th: {features: OWN, by: [ROLES, RANKS]}
  near king: {features: KING*OWN}
  sum: {features: KING+SC}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    """An evaluation with every form of term; weights without a rule tell if any moves."""
    path = tmp_path_factory.mktemp("evaluation") / "all.yaml"
    path.write_text(TERMS)
    found = evaluation.read(path)
    rng = np.random.default_rng(3)
    weights = rng.integers(-9999, 9999, found.weights.shape)
    weights[found.starts["tempo"]] = found.weights[found.starts["tempo"]]
    return found.with_weights(weights)


def cells(made: Evaluation, name: str) -> np.ndarray:
    """int64[..., 2]: the table of a term, from the weight of each feature, the slow way."""
    term = next(term for term in made.terms if term.name == name)
    start, weights = made.starts[name], made.weights
    each = weights[start + term.group]
    if name in ("tempo", "sum"):
        return each[0] if name == "tempo" else each
    alive = term.features.alive()
    each[~alive] = 0
    own = each.reshape(6, 8, 8, 2) if name != "near king" and name != "transposed" else each
    if name in ("piece square", "folded"):
        return own.reshape(6, 64, 2)
    if name == "near king":
        return each.reshape(64, 6, 64, 2)
    if name == "transposed":  # of files, ranks, roles and colours
        knight = each.reshape(8, 8, 6, 2, 2)[:, :, 1]
        return knight.transpose(2, 1, 0, 3).reshape(2, 64, 2)
    return own[:, :, 0] if name == "7th" else own[:, 1, 0]


def flipped(table: np.ndarray, name: str) -> np.ndarray:
    """The same with a8 as the first square."""
    if name in ("piece square", "folded", "transposed"):
        return table[:, np.arange(64) ^ 56]
    if name == "near king":
        return table[np.arange(64) ^ 56][:, :, np.arange(64) ^ 56]
    return table


def printed(kind: str, code: str, made: Evaluation, folder: Path) -> dict[str, np.ndarray]:
    """All constants of a program in their order of memory: names to int64[n, 2]."""
    names = {export.identifier(term.name): term for term in made.terms}
    if kind == "c":
        body = "".join(
            f"for (unsigned i = 0; i < sizeof {name} / sizeof(Score); i++)"
            f' printf("{name} %d %d\\n", MG(((const Score *)&{name})[i]),'
            f" EG(((const Score *)&{name})[i]));\n"
            for name in names
        )
        body += 'for (int i = 0; i < 6; i++) printf("PHASE %d 0\\n", PHASE[i]);'
        program = f"#include <stdio.h>\n{code}\nint main(void) {{ {body} return 0; }}\n"
        command = ["gcc", "-std=c99", "-Wall", "-Werror", "-x", "c", "-o", "program", "-"]
    else:
        body = "".join(
            f"let first = std::ptr::addr_of!({name}) as *const S;\n"
            f"let count = std::mem::size_of_val(&{name}) / 8;\n"
            "for s in unsafe { std::slice::from_raw_parts(first, count) }\n"
            f'{{ println!("{name} {{}} {{}}", s.0, s.1); }}\n'
            for name in names
        )
        body += 'for n in PHASE { println!("PHASE {} 0", n); }'
        program = f"{code}\nfn main() {{ {body} }}\n"
        command = ["rustc", "-D", "warnings", "-o", "program", "-"]
    if not shutil.which(command[0]):
        pytest.skip(f"there is no {command[0]}")
    subprocess.run(command, input=program, text=True, cwd=folder, check=True)
    done = subprocess.run([folder / "program"], capture_output=True, text=True, check=True)
    found: dict[str, list[list[int]]] = {}
    for line in done.stdout.splitlines():
        name, *numbers = line.split()
        found.setdefault(name, []).append([int(n) for n in numbers])
    return {name: np.array(rows) for name, rows in found.items()}


@pytest.mark.parametrize("order", ["a1", "a8"])
@pytest.mark.parametrize("kind", ["c", "rust"])
def test_a_program_reads_the_weights(
    made: Evaluation, kind: str, order: export.Order, tmp_path: Path
) -> None:
    found = printed(kind, export.to_text(made, kind, order), made, tmp_path)
    assert found.pop("PHASE")[:, 0].tolist() == made.phase.tolist()
    assert len(found) == len(made.terms)
    for term in made.terms:
        expected = cells(made, term.name)
        if order == "a8":
            expected = flipped(expected, term.name)
        name = export.identifier(term.name)
        np.testing.assert_array_equal(found[name], expected.reshape(-1, 2), err_msg=name)


def test_names_and_squares_stand_in_their_order(made: Evaluation) -> None:
    code = export.to_text(made, "c")
    material = code[code.index("MATERIAL[6]") :]
    assert re.findall(r"// (\w+)$", material[: material.index("};")], re.MULTILINE) == [*ROLE_NAMES]
    board = code[code.index("PIECE_SQUARE[6][64]") :]
    assert board.index("// a1..h1") < board.index("// a8..h8") < board.index("// knight")
    turned = export.to_text(made, "rust", "a8")
    board = turned[turned.index("PIECE_SQUARE: [[S; 64]; 6]") :]
    assert board.index("// a8..h8") < board.index("// a1..h1")
    assert "// 64: own piece on a1" in code[code.index("SUM[192]") :]


def test_a_mirrored_table_is_whole_and_unused_cells_are_empty(made: Evaluation) -> None:
    folded = next(term for term in made.terms if term.name == "folded")
    found = grids.grid(folded)
    assert found is not None
    assert [concept.name for concept in found.concepts] == ["ROLES", "SQUARES"]
    board = found.cells.reshape(6, 8, 8)
    np.testing.assert_array_equal(board, board[:, :, ::-1])
    pawns = found.cells[0]
    assert {SQUARES.values[s] for s in np.flatnonzero(pawns == grids.NONE)} == {
        *SQUARES.values[:8],
        *SQUARES.values[56:],
    }
    used = np.unique(found.cells[found.cells >= 0])
    np.testing.assert_array_equal(used, np.arange(folded.n_weights))


def test_terms_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "twins.yaml"
    for names, told in ((("a b", "a_b"), "as another term a b"), (("phase", "x"), "constant")):
        terms = "\n".join(f"  {name}: {{features: OWN, by: [ROLES]}}" for name in names)
        path.write_text(f"terms:\n{terms}\n")
        with pytest.raises(UserError, match=told):
            export.to_text(evaluation.read(path), "c")

"""Results as an RO-Crate: every file with its record, and nothing that isn't what it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nnuelab import artifacts
from nnuelab.cli import crate as _crate  # noqa: F401 (registers it)
from nnuelab.cli.app import app


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    (folder / "nets/KING*ALL").mkdir(parents=True)
    net, table = folder / "nets/KING*ALL/net.nnue", folder / "axis_table.csv"
    net.write_bytes(b"weights")
    artifacts.provenance(net, inputs={"games": __file__})
    table.write_text("a,b\n")
    artifacts.provenance(table, inputs={"net": net}, parameters={"anchor": "ALL"})
    (folder / "log.txt").write_text("no record")
    return folder


def entities(folder: Path, *words: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["crate", str(folder), "--date", "2026-11-25", *words])
    assert done.exit_code == 0, done.output
    content = json.loads((folder / "ro-crate-metadata.json").read_text())
    found = {each["@id"]: each for each in content["@graph"]}
    assert len(found) == len(content["@graph"])
    return found


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {value["@id"]} if set(value) == {"@id"} else references(list(value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


def test_files_inputs_and_commands_are_told(results: Path) -> None:
    found = entities(results, "--license", "https://example.org/free")
    root = found["./"]
    assert (root["datePublished"], root["name"]) == ("2026-11-25", "results")
    net, table = "nets/KING%2AALL/net.nnue", "axis_table.csv"
    assert {part["@id"] for part in root["hasPart"]} == {
        f"{file}{ending}" for file in (net, table) for ending in ("", ".json")
    }
    assert found[net]["sha256"] == artifacts.sha256(results / "nets/KING*ALL/net.nnue")
    actions = {e["result"]["@id"]: e for e in found.values() if e["@type"] == "CreateAction"}
    assert [each["@id"] for each in actions[table]["object"]] == [net]
    (games,) = (found[each["@id"]] for each in actions[net]["object"])
    assert games["sha256"] == artifacts.sha256(__file__)
    told = {"https://w3id.org/ro/crate/1.1", "https://example.org/free"}
    assert references(list(found.values())) - told <= set(found)


def test_a_file_that_was_edited_is_left_out(results: Path) -> None:
    (results / "axis_table.csv").write_text("a,c\n")
    assert "axis_table.csv" not in entities(results)


@pytest.mark.parametrize("record", [{}, {"versions": 3}, {"inputs": {"net": {}}}, [], 7])
def test_records_that_lie_are_no_reason_to_stop(results: Path, record: Any) -> None:
    path, beside = results / "other.csv", results / "other.csv.json"
    path.write_text("c\n")
    told = {"sha256": artifacts.sha256(path), **record} if isinstance(record, dict) else record
    beside.write_text(json.dumps(told))
    assert ("other.csv" in entities(results)) == (record == {})


def test_a_folder_without_records_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[1]")
    done = CliRunner().invoke(app, ["crate", str(tmp_path)])
    assert done.exit_code != 0
    assert "no artifact with the record of its making" in done.output
    assert not (tmp_path / "ro-crate-metadata.json").exists()

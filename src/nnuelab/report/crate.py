"""A folder of results as an RO-Crate: what archives and catalogues of research data read.

RO-Crate 1.1 (https://w3id.org/ro/crate/1.1), and of what made each file, as far as records tell,
the profile Process Run Crate 0.5 (https://w3id.org/ro/wfrun/process/0.5).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nnuelab import artifacts
from nnuelab.errors import UserError
from nnuelab.report import reading

NAME = "ro-crate-metadata.json"
SPECIFICATION = "https://w3id.org/ro/crate/1.1"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
SOFTWARE = "#nnuelab"


@dataclass(frozen=True)
class Artifact:
    """A file with its record, and what the record says of it."""

    path: Path
    record: dict[str, Any]


def recorded(folder: Path) -> Iterator[Artifact]:
    """The files in a folder that are still what the record beside them says, by path."""
    for beside in sorted(folder.rglob("*.json")):
        path = beside.with_suffix("")
        try:
            record = reading.read_record(beside)
        except UserError:  # another JSON file
            continue
        if path.is_file() and artifacts.sha256(path) == record["sha256"]:
            yield Artifact(path, record)


def metadata(folder: Path, name: str, date: str, license: str | None) -> dict[str, Any]:
    """What ``ro-crate-metadata.json`` of a folder says.

    Parameters
    ----------
    folder : path
        Searched for artifacts and their records.
    name, date : str
        Of the crate; the day it is published, ISO 8601.
    license : str, optional
        Its address.

    Raises
    ------
    UserError
        When no file has a record that fits it.
    """
    found = list(recorded(folder))
    if not found:
        raise UserError(
            f"{folder} has no artifact with the record of its making; name a folder of results"
        )
    places = {each.record["sha256"]: _id(folder, each.path) for each in found}
    files: dict[str, dict[str, Any]] = {}
    actions: list[dict[str, Any]] = []
    versions: dict[str, str] = {}
    for each in found:
        beside = each.path.with_name(each.path.name + ".json")
        for path, sha256 in (
            (each.path, each.record["sha256"]),
            (beside, artifacts.sha256(beside)),
        ):
            files[_id(folder, path)] = _file(folder, path, sha256)
        files[_id(folder, each.path)]["subjectOf"] = {"@id": _id(folder, beside)}
        inputs = []
        for told in each.record.get("inputs", {}).values():
            place = places.get(told["sha256"], f"#{told['sha256']}")
            inputs.append({"@id": place})
            if place not in files and place.startswith("#"):  # not in the folder
                files[place] = {
                    "@id": place,
                    "@type": "CreativeWork",
                    "name": told["path"],
                    "sha256": told["sha256"],
                }
        actions.append(
            {
                "@id": f"#making-{each.record['sha256'][:16]}-{quote(each.path.name)}",
                "@type": "CreateAction",
                "name": each.record["command"],
                "instrument": {"@id": SOFTWARE},
                "object": inputs,
                "result": {"@id": _id(folder, each.path)},
            }
        )
        versions |= each.record["versions"]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": name,
        "description": "Results of nnuelab, each with the record of its making beside it.",
        "datePublished": date,
        "hasPart": [{"@id": place} for place in files if not place.startswith("#")],
        "mentions": [{"@id": action["@id"]} for action in actions],
        "conformsTo": {"@id": PROFILE},
    }
    if license:
        root["license"] = {"@id": license}
    others = " ".join(f"{package} {version}" for package, version in sorted(versions.items()))
    about = {"@id": NAME, "@type": "CreativeWork", "about": {"@id": "./"}}
    return {
        "@context": [f"{SPECIFICATION}/context", {"sha256": "https://schema.org/sha256"}],
        "@graph": [
            about | {"conformsTo": {"@id": SPECIFICATION}},
            root,
            {"@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate"},
            {
                "@id": SOFTWARE,
                "@type": "SoftwareApplication",
                "name": "nnuelab",
                "softwareVersion": versions.get("nnuelab", ""),
                "softwareRequirements": others,
            },
            *files.values(),
            *actions,
        ],
    }


def _id(folder: Path, path: Path) -> str:
    return quote(path.relative_to(folder).as_posix())


def _file(folder: Path, path: Path, sha256: str) -> dict[str, Any]:
    return {
        "@id": _id(folder, path),
        "@type": "File",
        "name": path.name,
        "contentSize": path.stat().st_size,
        "sha256": sha256,
    }

"""The page as a file: small, the same for the same results, and whole in the package."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from nnuelab.cli import page as _commands  # noqa: F401 (registers them)
from nnuelab.cli.app import app
from nnuelab.report import page as module


def test_the_page_is_small(report):
    assert report.stat().st_size < 8_000_000


def test_the_same_results_give_the_same_page(everything, report, tmp_path):
    again = tmp_path / "again.html"
    command = ["report", "axis", "pairwise", "--results", str(everything), "--output", str(again)]
    CliRunner().invoke(app, command, catch_exceptions=False)
    assert again.read_bytes() == report.read_bytes()


def test_the_template_and_its_parts_come_with_the_package():
    assert {p.name for p in Path(module.__file__).with_name("page").iterdir()} >= {
        "page.html",
        "page.css",
        *module.SCRIPTS,
    }

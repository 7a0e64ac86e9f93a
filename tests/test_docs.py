"""The documentation builds without a warning, and what it shows is so: links, calls, examples."""

from __future__ import annotations

import csv
import doctest
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from markdown_it import MarkdownIt

import nnuelab
from nnuelab import params
from nnuelab.data.streams import lines

from .calls import GROUP, arguments, command_of, parse
from .conftest import ROOT
from .nnue_data import games

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PACKAGE = Path(nnuelab.__file__).parent
WITH_EXAMPLES = [
    ".".join(("nnuelab", *path.relative_to(PACKAGE).with_suffix("").parts))
    for path in sorted(PACKAGE.rglob("*.py"))
    if ">>> " in path.read_text()
]


def build(source: Path, output: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", *options]
    return subprocess.run(
        [*command, str(source), str(output)], capture_output=True, text=True, timeout=600
    )


def blocks(page: Path, language: str) -> Iterator[tuple[str, str]]:
    """Code of a language on a page, each with the text right before it."""
    text = page.read_text()
    lines = text.splitlines()
    for token in MarkdownIt().parse(text):
        if token.type == "fence" and token.info == language:
            assert token.map is not None
            before = "\n".join(lines[: token.map[0]]).rstrip().rpartition("\n\n")[2]
            yield before, token.content


def shown(page: Path) -> Iterator[tuple[str, str]]:
    """Each line of a console, with those that continue it, and what the page shows below it."""
    for _, code in blocks(page, "console"):
        for line in re.split(r"^\$ ", code.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
            command, _, printed = line.partition("\n")
            yield command, printed


def calls(page: Path) -> Iterator[tuple[list[str], str]]:
    """Words of each call of nnuelab in a console, and what the page says that it prints."""
    for command, printed in shown(page):
        if words := arguments(command):
            yield words, printed


def settings_on(page: Path) -> Iterator[dict[str, Any]]:
    """Overlays of params.yaml; other programs' settings and lists of players are none."""
    known = yaml.safe_load((ROOT / "params.yaml").read_text()).keys()
    found = (yaml.safe_load(code) for _, code in blocks(page, "yaml"))
    return (overlay for overlay in found if overlay.keys() <= known)


def named(page: Path, language: str = "python", ending: str = "py") -> dict[str, str]:
    """Files that a page says to write, by the name that stands before them."""
    found = {}
    for before, code in blocks(page, language):
        if name := re.search(rf"`(\w+\.{ending})`", before):
            found[name[1]] = code
    return found


def nnuelab_in(folder: Path, *words: str) -> str:
    """What a command prints in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "nnuelab.cli", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# What is made of the package itself


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "docs", folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_reference_has_every_command_and_what_a_file_of_blocks_imports(site: Path) -> None:
    from nnuelab import features
    from nnuelab.features import algebra

    commands = (site / "reference/commands.html").read_text()
    for name in GROUP.commands:
        assert f'id="nnuelab-{name}"' in commands
    page = (site / "reference/features.html").read_text()
    for name in features.__all__:
        if callable(value := getattr(features, name)) and value.__doc__:
            assert f'id="nnuelab.features.{name}"' in page
    assert 'id="nnuelab.features.algebra.Block"' not in page, "stands with the room"
    assert features.Block is algebra.Block


def test_every_page_is_in_one_list_of_the_sidebar(site: Path) -> None:
    """As a tutorial, a way to do something, an explanation or a reference."""
    tree = (site / "index.html").read_text().partition('class="sidebar-tree"')[2]
    lists = re.findall(r'class="caption-text">(.*?)<.*?<ul>(.*?)</ul>', tree, re.DOTALL)
    assert [name for name, _ in lists] == ["Tutorials", "How to", "Explanations", "Reference"]
    linked = [link for _, pages in lists for link in re.findall(r'href="([\w/-]+)\.html"', pages)]
    pages = (path.relative_to(ROOT / "docs") for path in PAGES[1:])
    assert sorted(linked) == sorted({str(page.with_suffix("")) for page in pages} - {"index"})


def test_a_broken_link_or_reference_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text((ROOT / "docs/conf.py").read_text())
    page = tmp_path / "index.md"
    page.write_text("# Title\n\n[good](#title)\n")
    assert build(tmp_path, tmp_path / "out").returncode == 0
    for link in ("[bad](#tittle)", "[bad](missing.md)", "{py:func}`nnuelab.missing`"):
        page.write_text(f"# Title\n\n{link}\n")
        assert build(tmp_path, tmp_path / "out").returncode != 0, link


# What is written


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    """As GitHub follows them, which shows README, too; the network is not asked."""
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(page.read_text()):
        for child in token.children or ():
            target = str(child.attrs.get("href") or child.attrs.get("src") or "")
            if not target or re.match(r"\w+:", target):
                continue
            name, _, anchor = target.partition("#")
            path = page.parent / name if name else page
            assert path.exists(), target
            if anchor:
                assert anchor in anchors(path), target


def anchors(page: Path) -> set[str]:
    tokens = MarkdownIt().parse(page.read_text())
    heads = [tokens[i + 1].content for i, t in enumerate(tokens) if t.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_take_what_is_shown(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words, _ in calls(page):
        command, rest = command_of(words)
        assert not hasattr(command, "commands") or words[0].startswith("--"), words
        known = {o for option in command.params for o in (*option.opts, *option.secondary_opts)}
        given = {word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
        assert given <= known | {"--help"}, (words, given - known)
        if command is not GROUP and not {"...", "--help"} & set(words):
            parse(words, tmp_path, monkeypatch)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_settings_are_valid(page: Path) -> None:
    for overlay in settings_on(page):
        if "blocks" not in overlay:  # these are tried with their files
            settings = yaml.safe_load((ROOT / "params.yaml").read_text())
            params.merge(settings, overlay)
            params.validate(settings, page.name)


# What runs


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_docstrings_run(name: str) -> None:
    """Those of blocks in a file of blocks: with all that it imports from nnuelab.features."""
    from nnuelab import features

    offered = {n: getattr(features, n) for n in features.__all__} if ".features." in name else {}
    runner = doctest.DocTestRunner(verbose=False)
    failed: list[str] = []
    for test in doctest.DocTestFinder().find(importlib.import_module(name), extraglobs=offered):
        runner.run(test, out=failed.append)
    assert not failed, "".join(failed)
    assert runner.summarize(verbose=False).attempted


def untimed(printed: str) -> list[str]:
    """The lines of a check without the last, which is a measurement."""
    return [line for line in printed.strip().splitlines() if not line.startswith("cost ")]


@pytest.mark.parametrize(
    "name", ["README.md", "docs/adding-a-feature-set.md", "docs/adding-a-kind.md"]
)
def test_a_feature_set_of_ones_own_works_as_written(name: str, tmp_path: Path) -> None:
    page = ROOT / name
    for file, code in named(page).items():
        (tmp_path / file).write_text(code)
    for place in ("params.yaml", "resources", "src"):
        (tmp_path / place).symlink_to(ROOT / place)

    overlays = [overlay for overlay in settings_on(page) if "blocks" in overlay]
    for overlay in overlays:
        (tmp_path / "overlay.yaml").write_text(yaml.safe_dump(overlay))
        nnuelab_in(tmp_path, "params", "check", "--overlay", "overlay.yaml")
    assert overlays or name == "docs/adding-a-kind.md"
    shown = [(words, printed) for words, printed in calls(page) if words[0] == "features"]
    for words, printed in shown:
        assert untimed(nnuelab_in(tmp_path, *words)) == untimed(printed)
    assert shown or name == "README.md"


def test_a_term_of_ones_own_works_as_written(tmp_path: Path) -> None:
    page = ROOT / "docs/texel.md"
    files = named(page) | named(page, "yaml", "yaml")
    assert files.keys() == {"my_terms.py", "my_evaluation.yaml", "mine.yaml"}
    for file, code in files.items():
        (tmp_path / file).write_text(code)
    for place in ("params.yaml", "resources", "src"):
        (tmp_path / place).symlink_to(ROOT / place)
    embedded = ROOT / "resources/embedded"
    openings = islice(lines(embedded / "openings.epd.gz"), 20)
    (tmp_path / "openings.epd").write_bytes(b"".join(openings))
    played = b"".join(islice(lines(embedded / "games.pgn.zst"), 3000)).rpartition(b"[Event")[0]
    (tmp_path / "games.pgn").write_bytes(played)

    nnuelab_in(tmp_path, "params", "check", "--overlay", "mine.yaml")
    own = [(words, printed) for words, printed in calls(page) if "my_terms.py" in words]
    assert [words[1] for words, _ in own[:4]] == ["check", "positions", "trace", "tune"]
    for words, printed in own:
        told = nnuelab_in(tmp_path, *words)
        assert untimed(told) == untimed(printed) or not printed
    with open(tmp_path / "my_terms.csv", newline="") as table:
        weights = {(row["weight"], row["phase"]): row for row in csv.DictReader(table)}
    assert all(("rim[bishop]", phase) in weights for phase in ("mg", "eg"))
    assert all(row["standard_error"] for row in weights.values())
    assert (tmp_path / "games_of_mine.pgn").read_text().count('[White "mine"]') == 1
    assert "rim[knight]" in nnuelab_in(tmp_path, "inspect", "my_terms.csv")


def test_datasets_open_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "results/data").mkdir(parents=True)
    np.save(tmp_path / "results/data/train.npy", games(1))
    monkeypatch.chdir(tmp_path)
    ((_, code),) = blocks(ROOT / "docs/datasets.md", "python")
    names: dict[str, Any] = {}
    exec(code, names)
    assert len(names["positions"]) == len(games(1))


def test_only_a_release_is_cited_by_its_number() -> None:
    released = ".dev" not in nnuelab.__version__
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited.get("version") == (nnuelab.__version__ if released else None)
    assert ("date-released" in cited) == released
    latest = re.search(r"^## ([\d.]+)(, unreleased)?$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert latest is not None
    assert nnuelab.__version__.partition(".dev")[0] == latest[1]
    assert (latest[2] is None) == released

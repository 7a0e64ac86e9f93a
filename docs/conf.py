"""The documentation: pages in Markdown, and references that are made of the package itself."""

from __future__ import annotations

import importlib
import pkgutil
import re
from types import ModuleType

import typer
from sphinx.application import Sphinx
from typer.cli import get_docs_for_click

from nnuelab.cli.__main__ import application

project = "nnuelab"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = project
toc_object_entries = False  # the list of contents on every page would be most of it

myst_heading_anchors = 3  # as GitHub makes them

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "none"  # the docstrings have them, with shapes
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_param = False
napoleon_use_rtype = False
default_role = "code"

# Functions and methods that a docstring names must be there. Types in docstrings are prose, whose n
# is no attribute of some class, and modules may go by their last name.
nitpicky = True
nitpick_ignore_regex = [("py:(class|obj|data|exc)", ".*"), ("py:mod", r"\w+")]
suppress_warnings = ["ref.python"]

MODULE = """## {name}

```{{eval-rst}}
.. automodule:: {name}
{options}
```

"""


def commands() -> str:
    """Every command with its options, as the program itself tells them."""
    group = typer.main.get_command(application())
    text = get_docs_for_click(obj=group, ctx=typer.Context(group, info_name=project), name=project)
    examples = re.compile(r"^(?:Example: (?:.+\n)+\n)+", re.MULTILINE)
    return examples.sub(lambda found: console(found[0]), text.partition("\n")[2])


def console(examples: str) -> str:
    """The examples of a command as they are typed."""
    calls = [call.strip().replace("\n", " \\\n    ") for call in examples.split("Example:")[1:]]
    return "\n".join(["```console", *(f"$ {call}" for call in calls), "```", "\n"])


def modules(room: str) -> str:
    """Every module of a room, by its docstrings."""
    package = importlib.import_module(f"nnuelab.{room}")
    inner = pkgutil.walk_packages(getattr(package, "__path__", []), f"{package.__name__}.")
    return MODULE.format(name=package.__name__, options="") + "".join(
        MODULE.format(name=module.name, options=options(module.name, package)) for module in inner
    )


def options(name: str, package: ModuleType) -> str:
    """What the room itself offers stands there, and not once more in the module that defines it."""
    module = importlib.import_module(name)
    offered = getattr(package, "__all__", [])
    told = [n for n in offered if getattr(module, n, None) is getattr(package, n)]
    # A function may have the name of its module.
    taken = name.rpartition(".")[2] in told
    return f"   :exclude-members: {', '.join(told)}" + "\n   :no-index:" * taken


def add_reference(sphinx: Sphinx, page: str, source: list[str]) -> None:
    """Puts what is made under the words that are written."""
    folder, _, name = page.rpartition("/")
    if page == "reference/commands":
        source[0] += commands()
    elif folder == "reference":
        source[0] += modules(name)


def setup(sphinx: Sphinx) -> None:
    sphinx.connect("source-read", add_reference)

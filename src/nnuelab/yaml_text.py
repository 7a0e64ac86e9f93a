"""YAML from files that anyone may have written.

No mapping has a key twice, of which the library would silently take the last, and no integer has
more than 64 bits.
"""

from __future__ import annotations

from typing import Any

import yaml

from nnuelab.errors import one_line, quoted
from nnuelab.settings import LARGEST


class _Once(yaml.SafeLoader):
    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            kind = node.tag.rpartition(":")[2]
            shown = quoted(node.value) if isinstance(node, yaml.ScalarNode) else "this"
            text = f"{shown} can't be read as {kind}; correct it, or put it in quotes"
            raise yaml.MarkedYAMLError(problem=text, problem_mark=node.start_mark) from None
        if isinstance(value, int) and not -LARGEST - 1 <= value <= LARGEST:
            text = f"{quoted(node.value)} is no integer of 64 bits; give one nearer to 0"
            raise yaml.MarkedYAMLError(problem=text, problem_mark=node.start_mark)
        return value

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                text = "a list or mapping can't be a name"
                raise yaml.MarkedYAMLError(problem=text, problem_mark=key.start_mark)
            if key.value in seen:
                text = f"{key.value} is listed twice; give each a name of its own"
                raise yaml.MarkedYAMLError(problem=text, problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def load(text: str | bytes) -> Any:
    """The content of a text, or of a file in UTF-8; raises yaml.YAMLError."""
    try:
        return yaml.load(text, _Once)
    except RecursionError:
        raise yaml.YAMLError("brackets are nested too deeply") from None


def told(error: yaml.YAMLError) -> tuple[str, str]:
    """Where a mistake is, as ``line 3`` (empty: unknown), and what it is."""
    mark = getattr(error, "problem_mark", None)
    return f"line {mark.line + 1}" if mark else "", getattr(error, "problem", None) or one_line(
        error
    )

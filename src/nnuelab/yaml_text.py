"""YAML whose mappings have no key twice: the library would silently take the last."""

from __future__ import annotations

from typing import Any

import yaml

from nnuelab.errors import one_line


class _Once(yaml.SafeLoader):
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

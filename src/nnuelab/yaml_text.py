"""YAML whose mappings have no key twice: the library would silently take the last."""

from __future__ import annotations

from typing import Any

import yaml


class _Once(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                text = f"{key.value} is listed twice; give each a name of its own"
                raise yaml.MarkedYAMLError(problem=text, problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def load(text: str) -> Any:
    """The content; raises yaml.YAMLError."""
    return yaml.load(text, _Once)


def told(error: yaml.YAMLError) -> tuple[str, str]:
    """Where a mistake is, as ``line 3`` (empty: unknown), and what it is."""
    mark = getattr(error, "problem_mark", None)
    return f"line {mark.line + 1}" if mark else "", getattr(error, "problem", None) or str(error)

"""Whatever stands in a file, its reader says the line, and what is wrong there."""

from __future__ import annotations

import pytest
import yaml

from nnuelab import yaml_text

LONG = 5000  # digits, more than Python reads


@pytest.mark.parametrize(
    ("scalar", "said"),
    [
        ("2024-13-45", "'2024-13-45' can't be read as timestamp"),
        ("0001-01-01T00:00:00+99:99", "can't be read as timestamp"),
        ("0x_", "'0x_' can't be read as int"),
        ("-0x_", "can't be read as int"),
        ("!!int x", "can't be read as int"),
        ("!!int ''", "can't be read as int"),
        ("!!float x", "can't be read as float"),
        ("!!bool x", "can't be read as bool"),
        ("!!timestamp x", "can't be read as timestamp"),
        ("9" * LONG, "can't be read as int"),
        ("0x" + "f" * LONG, "is no integer of 64 bits"),
        (str(2**63), "is no integer of 64 bits"),
    ],
)
def test_a_value_that_is_none_is_told_with_its_line(scalar: str, said: str) -> None:
    with pytest.raises(yaml.YAMLError) as caught:
        yaml_text.load(f"a: 1\nb: {{c: [{scalar}]}}\n")
    place, problem = yaml_text.told(caught.value)
    assert place == "line 2"
    assert said in problem
    assert len(problem) < 200


def test_integers_of_64_bits_are_read() -> None:
    text = f"[{2**63 - 1}, {-(2**63)}, 0x_1, true]"
    assert yaml_text.load(text) == [2**63 - 1, -(2**63), 1, True]

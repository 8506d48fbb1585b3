"""Keys that plug-ins add to chip descriptions: their checks, defaults and preservation in the chip's table."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from meshloom.chips import Chip
from meshloom.chips.added_keys import KEYS, ChipKey
from meshloom.chips.load import HERE, chip_from_table
from meshloom.support.errors import InputError


def table() -> dict[str, Any]:
    return tomllib.loads((HERE / "tiny.toml").read_text())


def at_most_all_lanes(value: int, chip: Chip) -> str | None:
    return None if 1 <= value <= chip.vpu_lanes else f"expected 1 to {chip.vpu_lanes}, the lanes of the vector unit"


LANES = ChipKey("sort_lanes", default=4, problem=at_most_all_lanes)
RATE = ChipKey("sort_rate", default=0.5)
NAME = ChipKey("sort_unit", default="")
THERE = ChipKey("sorts", default=False)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in (LANES, RATE, NAME, THERE):
        monkeypatch.setitem(KEYS, key.name, key)


def test_values_reach_the_plugin() -> None:
    chip = chip_from_table(table() | {"sort_lanes": 8, "sort_rate": 2, "sorts": True, "sort_unit": "bitonic"}, "here")
    assert (LANES.of(chip), RATE.of(chip), NAME.of(chip), THERE.of(chip)) == (8, 2.0, "bitonic", True)


def test_a_missing_key_equals_the_default() -> None:
    plain = chip_from_table(table(), "here")
    assert (LANES.of(plain), THERE.of(plain)) == (4, False)
    assert chip_from_table(table() | {"sort_lanes": 4}, "here") == plain
    other = chip_from_table(table() | {"sort_lanes": 2}, "here")
    assert other != plain
    assert other.fingerprint != plain.fingerprint


def test_the_table_gives_an_equal_chip() -> None:
    chip = chip_from_table(table() | {"sort_lanes": 2, "sorts": True}, "here")
    assert chip.table["sort_lanes"] == 2
    assert "added" not in chip.table
    assert chip_from_table(json.loads(json.dumps(chip.table)), "there") == chip


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("sort_lanes", True, "here: 'sort_lanes' is True, expected an integer"),
        ("sort_lanes", "4", "here: 'sort_lanes' is '4', expected an integer"),
        ("sort_lanes", 9, "here: 'sort_lanes' is 9, expected 1 to 8, the lanes of the vector unit"),
        ("sort_rate", float("nan"), "here: 'sort_rate' is nan, expected a number"),
        ("sort_unit", 1, "here: 'sort_unit' is 1, expected a string"),
        ("sorts", 1, "here: 'sorts' is 1, expected true or false"),
        ("added", [], "here: unknown key 'added'"),
    ],
)
def test_invalid_values_are_refused(key: str, value: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        chip_from_table(table() | {key: value}, "here")
    assert str(caught.value).startswith(message)

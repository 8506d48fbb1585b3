"""Keys of the mapping unit in chip descriptions."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from meshloom.chips import chip_names, load_chip
from meshloom.chips.chip import MAP_CACHES, MAP_LANES
from meshloom.chips.load import HERE, chip_from_table
from meshloom.support.errors import InputError


def table() -> dict[str, Any]:
    return tomllib.loads((HERE / "tiny.toml").read_text())


def test_chips_use_both_places_of_the_caches() -> None:
    assert {load_chip(name).map_caches for name in chip_names()} == set(MAP_CACHES)


def test_chips_use_both_kinds_of_lanes() -> None:
    """The provided chips use both values of `map_lanes`; the default is 'own'."""
    assert {load_chip(name).map_lanes for name in chip_names()} == set(MAP_LANES)
    assert chip_from_table({key: value for key, value in table().items() if key != "map_lanes"}, "").map_lanes == "own"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("map_caches", "around", "'map_caches' is 'around', expected 'before' or 'after'"),
        ("map_caches", 1, "'map_caches' is 1, expected a string"),
        ("map_lanes", "shared", "'map_lanes' is 'shared', expected 'own' or 'joined'"),
        ("map_direct_bits", 0, "'map_direct_bits' is 0, expected a positive integer"),
        ("map_stride_codes", 1.5, "'map_stride_codes' is 1.5, expected a positive integer"),
        ("map_codes", 1, "unknown key 'map_codes'"),
    ],
)
def test_invalid_values_are_refused(key: str, value: object, message: str) -> None:
    with pytest.raises(InputError, match=rf"^here: {message}"):
        chip_from_table(table() | {key: value}, "here")


@pytest.mark.parametrize("key", [key for key in table() if key.startswith("map_") and key != "map_lanes"])
def test_no_key_may_be_missing(key: str) -> None:
    with pytest.raises(InputError, match=f"here: key '{key}' is missing"):
        chip_from_table({name: value for name, value in table().items() if name != key}, "here")

"""`chips/tiny.toml` contains every key that the loader of chip descriptions knows, as its documentation states."""

from __future__ import annotations

import tomllib
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, cast

import pytest
from meshloom.chips import Chip, Energy, load_chip
from meshloom.chips.load import HERE, chip_from_table
from meshloom.support.errors import InputError

ROOT = Path(__file__).resolve().parents[3]


def table() -> dict[str, Any]:
    return tomllib.loads((HERE / "tiny.toml").read_text())


def known_keys(given: dict[str, Any], **unknown: object) -> list[str]:
    """The known keys as listed in the loader's error message for an unknown key."""
    with pytest.raises(InputError, match="unknown key 'no_such_key'") as caught:
        chip_from_table(given | unknown, "here")
    return str(caught.value).split("known keys: ")[1].split(", ")


def test_tiny_shows_every_key_that_the_loader_knows() -> None:
    assert "`chips/tiny.toml` shows and explains all keys" in (ROOT / "docs" / "extend.md").read_text()
    given = table()
    energy = cast("dict[str, Any]", given["energy"])
    assert sorted(given) == sorted([*known_keys(given, no_such_key=1), "energy"])
    assert sorted(energy) == sorted(known_keys(given, energy=energy | {"no_such_key": 1}))
    assert {*known_keys(given, no_such_key=1), "energy"} == {field.name for field in fields(Chip)} - {"added"}
    assert {*energy} == {field.name for field in fields(Energy)}


def test_optional_keys_are_marked_and_have_their_default() -> None:
    lines = (HERE / "tiny.toml").read_text().splitlines()
    chip = load_chip("tiny")
    optional = [field for field in fields(Chip) if field.default is not MISSING and field.name != "added"]
    assert optional
    for field in optional:
        (line,) = [line for line in lines if line.startswith(f"{field.name} =")]
        assert "left out" in line
        assert getattr(chip, field.name) == field.default
        assert chip_from_table({key: value for key, value in table().items() if key != field.name}, "") == chip
    marked = {line.split(" =")[0] for line in lines if "left out" in line}
    assert marked == {field.name for field in optional}

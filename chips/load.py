"""Loading of chip descriptions from TOML, by name (`chips/NAME.toml`) or by path, with a check of all keys."""

from __future__ import annotations

import tomllib
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, cast

from ..support.errors import InputError
from ..support.input_files import read_regular
from .added_keys import added_values, check_added
from .chip import MAP_CACHES, MAP_LANES, Chip, Energy

HERE = Path(__file__).parent
ADDED: dict[str, Path] = {}
"""Paths of descriptions that plug-ins add, by the chip's name."""
_MAY_BE_ZERO = {"hop_cycles", "dram_latency", "host_latency"}
_LARGEST = 1 << 48
"""Largest integer, so that sums and products of a few of them fit in 64 bits."""
_LARGEST_OF = {"queue_depth": 1 << 16, "semaphores": 1 << 16, "dram_burst": 1 << 16}
"""Smaller limits: queues take memory; instructions have 16 bits for a semaphore; copies are rounded up to bursts."""


def chip_names() -> list[str]:
    """Names of the descriptions that ship with the package, and of those that plug-ins add, sorted."""
    return sorted({*(path.stem for path in HERE.glob("*.toml")), *ADDED})


def load_chip(name_or_path: str) -> Chip:
    """
    The chip called `name_or_path` (see `chip_names`), or described by the TOML file at that path.

    Raises InputError naming the file, the key and the expected value.
    """
    path = Path(name_or_path)
    if path.suffix != ".toml":
        path = ADDED.get(name_or_path, HERE / f"{name_or_path}.toml")
        if not path.is_file():
            raise InputError(
                f"no chip named '{name_or_path}': choose one of {', '.join(chip_names())}, or give a .toml"
            )
    try:
        text = read_regular(path).decode("utf-8")
        return chip_from_table(tomllib.loads(text), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read chip description {path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error


def chip_from_table(table: dict[str, Any], location: str) -> Chip:
    """Build and check a `Chip` from a parsed TOML table (or from JSON); `location` names it in errors."""
    table = dict(table)
    energy: object = table.pop("energy", None)
    if not isinstance(energy, dict):
        raise InputError(f"{location}: needs a table [energy] with {', '.join(f.name for f in fields(Energy))}")
    added = added_values(table, location)
    values = _checked(Chip, table, location, skip=frozenset({"energy", "added"}))
    of_events = Energy(**_checked(Energy, cast("dict[str, Any]", energy), f"{location} [energy]"))
    chip = Chip(**values, energy=of_events, added=added)
    _check_consistency(chip, location)
    check_added(chip, location)
    return chip


def _checked(cls: type, table: dict[str, Any], location: str, skip: frozenset[str] = frozenset()) -> dict[str, Any]:
    known = {f.name: f for f in fields(cls) if f.name not in skip}
    for key in table:
        if key not in known:
            raise InputError(
                f"{location}: unknown key '{key}' (if it is that of a plug-in, load this with --plugin); known keys: "
                f"{', '.join(known)}"
            )
    values: dict[str, Any] = {}
    for name, field in known.items():
        if name not in table:
            if field.default is MISSING:
                raise InputError(f"{location}: key '{name}' is missing")
            continue
        values[name] = _typed(table[name], str(field.type), name, location)
    return values


def _typed(value: Any, kind: str, name: str, location: str) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "int" if number and isinstance(value, int) and value >= (0 if name in _MAY_BE_ZERO else 1):
            if value > (limit := _LARGEST_OF.get(name, _LARGEST)):
                raise InputError(f"{location}: '{name}' is {value}, at most {limit:,} is supported")
            return value
        case "float" if number and 0 <= value < float("inf"):
            return float(value)
        case "str" if isinstance(value, str):
            return value
        case "tuple[int, ...]" if isinstance(value, list):
            items = cast("list[Any]", value)
            if all(type(item) is int for item in items):
                return tuple(sorted(set(items)))
            raise InputError(f"{location}: '{name}' is {value!r}, expected a list of integers")
        case _:
            wanted = {"int": "a positive integer", "float": "a non-negative number", "str": "a string"}
            raise InputError(f"{location}: '{name}' is {value!r}, expected {wanted.get(kind, 'a list of integers')}")


def _check_consistency(chip: Chip, location: str) -> None:
    if chip.clock_ghz == 0:
        raise InputError(f"{location}: 'clock_ghz' must be greater than 0")
    if chip.rows > 64 or chip.cols > 64:
        raise InputError(f"{location}: the mesh is {chip.rows} x {chip.cols}, at most 64 x 64 is supported")
    if any(core < 0 or core >= chip.cores for core in chip.unusable_cores):
        raise InputError(f"{location}: 'unusable_cores' must lie in 0..{chip.cores - 1}")
    if not chip.usable_cores:
        raise InputError(f"{location}: 'unusable_cores' leaves no usable core")
    if chip.dram_ports > chip.rows:
        raise InputError(f"{location}: 'dram_ports' is {chip.dram_ports}, but the mesh has only {chip.rows} rows")
    if chip.map_caches not in MAP_CACHES:
        wanted = " or ".join(f"'{where}'" for where in MAP_CACHES)
        raise InputError(f"{location}: 'map_caches' is '{chip.map_caches}', expected {wanted} (the mapping unit)")
    if chip.map_lanes not in MAP_LANES:
        wanted = " or ".join(f"'{how}'" for how in MAP_LANES)
        raise InputError(f"{location}: 'map_lanes' is '{chip.map_lanes}', expected {wanted}")

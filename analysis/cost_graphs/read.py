"""
Reads a cost graph from JSON.

`tensors`: id, shape, size (bytes), kind (one of `KINDS`); `ops` in program order: id, name, unit, ins, outs (ids of
tensors), flops, dur_ns, phase. `shape`, `flops`, `name` and `phase` are optional: they do not affect plans.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...support.errors import InputError
from ...support.input_files import read_regular
from .graph import FROM_THE_START, CostGraph, lists_of

KINDS = ("input", "weight", "act", "grad", "wgrad")
"""Kinds of tensors."""
LARGEST = 1 << 62
"""Sums of sizes and durations stay below this, so that they fit in 64 bits."""


def read_cost_graph(path: str | Path) -> CostGraph:
    """The graph in a file. Raises InputError that names the file and the error in it."""
    path = Path(path)
    try:
        data = json.loads(read_regular(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}") from error
    return parse_cost_graph(data, str(path), path.stem)


def parse_cost_graph(data: object, location: str = "graph", name: str = "graph") -> CostGraph:
    """The graph in decoded JSON; `location` begins the messages. Raises InputError."""
    table = _table(data, location)
    tensors = _read_tensors(table, location)
    ops = _read_ops(table, tensors, location)
    if sum(ops.durations) > LARGEST or sum(tensors.sizes) > LARGEST:
        raise InputError(f"{location}: durations or sizes add up to more than 2^62")
    names = [f"op {number} ({text})" for number, text in zip(ops.ids, ops.names, strict=True)]
    _check_producers(ops, tensors, names, location)
    _check_order(ops.ins, ops.outs, names, tensors.ids, location)
    unit_names = tuple(dict.fromkeys(ops.units))
    return CostGraph(
        _text(table, "name", location, name),
        tuple(ops.names),
        tuple(ops.ids),
        unit_names,
        np.array([unit_names.index(unit) for unit in ops.units], np.int64),
        np.array(ops.durations, np.int64),
        np.array(ops.flops, np.int64),
        tuple(ops.phases),
        lists_of(ops.ins),
        lists_of(ops.outs),
        tuple(tensors.ids),
        tuple(tensors.kinds),
        tuple(tensors.shapes),
        np.array(tensors.sizes, np.int64),
    )


@dataclass(frozen=True)
class _Tensors:
    """The columns of `tensors`."""

    ids: list[int] = field(default_factory=list[int])
    kinds: list[str] = field(default_factory=list[str])
    shapes: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    sizes: list[int] = field(default_factory=list[int])
    numbers: dict[int, int] = field(default_factory=dict[int, int])
    """id -> row"""


@dataclass(frozen=True)
class _Ops:
    """The columns of `ops`; operands and results by row in `tensors`."""

    ids: list[int] = field(default_factory=list[int])
    names: list[str] = field(default_factory=list[str])
    units: list[str] = field(default_factory=list[str])
    phases: list[str] = field(default_factory=list[str])
    durations: list[int] = field(default_factory=list[int])
    flops: list[int] = field(default_factory=list[int])
    ins: list[list[int]] = field(default_factory=list[list[int]])
    outs: list[list[int]] = field(default_factory=list[list[int]])


def _read_tensors(table: dict[str, Any], location: str) -> _Tensors:
    items = [_table(item, f"{location}: tensors[{i}]") for i, item in enumerate(_list(table, "tensors", location))]
    found = _Tensors()
    for index, tensor in enumerate(items):
        own = _whole(tensor, "id", f"{location}: tensors[{index}]")
        where = f"{location}: tensor {own}"
        if found.numbers.setdefault(own, index) != index:
            raise InputError(f"{where} is defined twice")
        kind = _text(tensor, "kind", where)
        if kind not in KINDS:
            raise InputError(f"{where}: 'kind' is {_shown(kind)}, expected one of {', '.join(KINDS)}")
        found.ids.append(own)
        found.kinds.append(kind)
        found.sizes.append(_count(tensor, "size", where))
        found.shapes.append(tuple(_dims(tensor, where)))
    return found


def _read_ops(table: dict[str, Any], tensors: _Tensors, location: str) -> _Ops:
    items = [_table(item, f"{location}: ops[{i}]") for i, item in enumerate(_list(table, "ops", location))]
    found = _Ops()
    seen: set[int] = set()
    for index, op in enumerate(items):
        own = _whole(op, "id", f"{location}: ops[{index}]")
        name = _text(op, "name", f"{location}: op {own}", str(own))
        where = f"{location}: op {own} ({name})"
        if own in seen:
            raise InputError(f"{where} is defined twice")
        seen.add(own)
        found.ids.append(own)
        found.names.append(name)
        found.units.append(_text(op, "unit", where))
        found.phases.append(_text(op, "phase", where, ""))
        found.durations.append(_count(op, "dur_ns", where))
        found.flops.append(_count(op, "flops", where, 0))
        found.ins.append(list(dict.fromkeys(_tensors(op, "ins", tensors.numbers, where))))
        found.outs.append(_tensors(op, "outs", tensors.numbers, where))
    return found


def _check_producers(ops: _Ops, tensors: _Tensors, names: list[str], location: str) -> None:
    """Check that every tensor that an operation reads is available from the start, or computed by an operation."""
    there = {number for number, kind in enumerate(tensors.kinds) if kind in FROM_THE_START}.union(*ops.outs)
    for op, operands in enumerate(ops.ins):
        if missing := [tensor for tensor in operands if tensor not in there]:
            raise InputError(
                f"{location}: {names[op]} reads tensor {tensors.ids[missing[0]]}, which no operation computes: tensors "
                f"without a producer are of kind {' or '.join(FROM_THE_START)}"
            )


def _check_order(ins: list[list[int]], outs: list[list[int]], names: list[str], ids: list[int], location: str) -> None:
    """Check that every tensor has at most one producer, and every operation follows the producers of its operands."""
    producer: dict[int, int] = {}
    for op, results in enumerate(outs):
        for tensor in results:
            if tensor in producer:
                both = f"{names[producer[tensor]]} and {names[op]}"
                raise InputError(f"{location}: tensor {ids[tensor]} is computed twice, by {both}")
            producer[tensor] = op
    for op, operands in enumerate(ins):
        for tensor in operands:
            source = producer.get(tensor, -1)
            if source >= op:
                if _reaches(op, source, ins, producer):
                    raise InputError(f"{location}: {names[op]} depends on itself: it is part of a cycle")
                raise InputError(
                    f"{location}: {names[op]} reads tensor {ids[tensor]} before {names[source]} computes it: "
                    f"put the operations in an order in which they can run"
                )


def _reaches(first: int, last: int, ins: list[list[int]], producer: dict[int, int]) -> bool:
    """Whether `last` needs, directly or not, a result of `first`."""
    todo, seen = [last], {last}
    while todo:
        op = todo.pop()
        if op == first:
            return True
        for source in {producer[tensor] for tensor in ins[op] if tensor in producer} - seen:
            seen.add(source)
            todo.append(source)
    return False


def _table(data: object, location: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise InputError(f"{location}: expected an object, found {_shown(data)}")
    return cast(dict[str, Any], data)


def _list(table: dict[str, Any], key: str, location: str) -> list[Any]:
    return _get(table, key, location, lambda value: isinstance(value, list), "a list", None)


def _text(table: dict[str, Any], key: str, location: str, default: str | None = None) -> str:
    return _get(table, key, location, lambda value: isinstance(value, str), "a string", default)


def _is_whole(value: object) -> bool:
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))


def _whole(table: dict[str, Any], key: str, location: str) -> int:
    return int(_get(table, key, location, _is_whole, "a whole number", None))


def _count(table: dict[str, Any], key: str, location: str, default: int | None = None) -> int:
    def good(value: Any) -> bool:
        return _is_whole(value) and 0 <= value <= LARGEST

    return int(_get(table, key, location, good, "a whole number from 0 to 2^62", default))


def _dims(table: dict[str, Any], location: str) -> list[int]:
    def good(value: Any) -> bool:
        return isinstance(value, list) and all(_is_whole(dim) and dim >= 0 for dim in cast(list[Any], value))

    return [int(dim) for dim in _get(table, "shape", location, good, "a list of whole numbers from 0 on", list[int]())]


def _tensors(table: dict[str, Any], key: str, numbers: dict[int, int], location: str) -> list[int]:
    found: list[int] = []
    for tensor in _list(table, key, location):
        if not _is_whole(tensor) or int(tensor) not in numbers:
            raise InputError(f"{location}: '{key}' names tensor {_shown(tensor)}, which is not in 'tensors'")
        found.append(numbers[int(tensor)])
    return found


def _get(
    table: dict[str, Any], key: str, location: str, good: Callable[[Any], bool], kind: str, default: object
) -> Any:
    if key not in table:
        if default is None:
            raise InputError(f"{location} has no '{key}'")
        return default
    if not good(value := table[key]):
        raise InputError(f"{location}: '{key}' is {_shown(value)}, expected {kind}")
    return value


def _shown(value: object) -> str:
    text = "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."

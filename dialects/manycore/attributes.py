"""Attributes of the `manycore` dialect: the chip, and the tiling of an iteration space over cores and time."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import I64, DenseArrayBase, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...support.errors import InputError
from ..dataflow.tiling import Box
from .tiling import Tiling

if TYPE_CHECKING:
    from ...chips import Chip

CHIP = "manycore.chip"
"""Name of the module attribute that holds the chip."""


@lru_cache(maxsize=16)
def _load(name: str) -> Chip:
    from ...chips import load_chip

    if not name.startswith("{"):
        return load_chip(name)
    from ...chips.load import chip_from_table

    location = "chip description"
    try:
        table: object = json.loads(name)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the {location} is not a JSON object: {error}") from error
    return chip_from_table(cast("dict[str, Any]", table), location)


@irdl_attr_definition
class ChipAttr(ParametrizedAttribute):
    """
    The chip that a module is for, as its attribute `manycore.chip`: the name of a description that is part of the
    package, the path of a `.toml`, or the description itself as a JSON object with the same keys.

    ```syntax
    #manycore.chip< string >
    ```

    ```mlir
    #manycore.chip<"edge">
    ```
    """

    name = "manycore.chip"
    description: StringAttr

    def __init__(self, description: str | StringAttr) -> None:
        super().__init__(StringAttr(description) if isinstance(description, str) else description)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            start = parser.pos
            description = parser.parse_str_literal()
            try:
                _load(description)
            except InputError as error:
                parser.raise_error(str(error), start, parser.pos)
        return [StringAttr(description)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.description.data)

    def load(self) -> Chip:
        """The parameters of the chip. Raises InputError if the description is missing or invalid."""
        return _load(self.description.data)


def chip_of(op: Operation) -> Chip | None:
    """
    The chip of the module that contains `op`, or None if it names none. Raises VerifyException for an invalid one.
    """
    top = op.get_toplevel_object()
    if not isinstance(top, ModuleOp) or (attribute := top.attributes.get(CHIP)) is None:
        return None
    if not isinstance(attribute, ChipAttr):
        raise VerifyException(f"module attribute {CHIP} is {attribute}: expected #manycore.chip<...>")
    try:
        return attribute.load()
    except InputError as error:
        raise VerifyException(str(error)) from error


_FIELDS = ("grid", "cores", "steps", "order", "multiples")
KEPT_TILINGS = 1 << 12
"""Number of tilings whose attributes are cached: the variants of a network have many tilings in common."""


@irdl_attr_definition
class TilingAttr(ParametrizedAttribute):
    """
    How an iteration space is divided over cores and time.

    Each dimension is divided into `grid` parts; `cores` names the core of each tile, in row-major order. The tile of a
    core is divided into `steps` parts in each dimension. These are computed one after the other, in loops over the
    dimensions in `order`, the outermost first. Parts of a dimension differ in size by at most one element, or multiple:

    ```
    parallel for tile in row-major grid:              # on core cores[tile]
        for step in loops over steps, in this order:
            compute the box
    ```

    `multiples`, which may be left out where they are 1, divide the offsets and sizes of tiles: with
    `grid = [1, 3], ..., multiples = [1, 4]`, 28 columns are cut into 8, 8 and 12.

    ```syntax
    #manycore.tiling< `grid` `=` `[` integers `]` `,` `cores` `=` `[` integers `]` `,` `steps` `=` `[` integers `]` `,`
      `order` `=` `[` integers `]` (`,` `multiples` `=` `[` integers `]`)? >
    ```

    ```mlir
    #manycore.tiling<grid = [1, 2], cores = [0, 1], steps = [4, 1], order = [0, 1]>
    #manycore.tiling<grid = [1, 3], cores = [0, 1, 2], steps = [1, 1], order = [0, 1], multiples = [1, 4]>
    ```
    """

    name = "manycore.tiling"
    grid_attr: DenseArrayBase[I64]
    cores_attr: DenseArrayBase[I64]
    steps_attr: DenseArrayBase[I64]
    order_attr: DenseArrayBase[I64]
    multiples_attr: DenseArrayBase[I64]

    def __init__(
        self,
        grid: Sequence[int],
        cores: Sequence[int],
        steps: Sequence[int],
        order: Sequence[int],
        multiples: Sequence[int] = (),
    ) -> None:
        lists = (grid, cores, steps, order, _shortened(multiples))
        super().__init__(*(DenseArrayBase.from_list(i64, list(values)) for values in lists))

    @property
    def grid(self) -> tuple[int, ...]:
        """Number of parts in each dimension, each on a separate core."""
        return tuple(self.grid_attr.get_values())

    @property
    def cores(self) -> tuple[int, ...]:
        """Core of each tile, in row-major order of the grid."""
        return tuple(self.cores_attr.get_values())

    @property
    def steps(self) -> tuple[int, ...]:
        """Number of parts of a core's tile in each dimension, which are computed one after the other."""
        return tuple(self.steps_attr.get_values())

    @property
    def order(self) -> tuple[int, ...]:
        """Dimensions from the outermost loop to the innermost."""
        return tuple(self.order_attr.get_values())

    @property
    def multiples(self) -> tuple[int, ...]:
        """For each dimension, a divisor of the offsets and sizes of tiles; empty if all are 1."""
        return tuple(self.multiples_attr.get_values())

    @staticmethod
    def check(
        grid: Sequence[int],
        cores: Sequence[int],
        steps: Sequence[int],
        order: Sequence[int],
        multiples: Sequence[int] = (),
    ) -> str | None:
        """What is wrong with these lists, or None."""
        rank = len(grid)
        if len(steps) != rank or len(order) != rank:
            return f"grid, steps and order have {rank}, {len(steps)} and {len(order)} entries: expected equally many"
        if any(parts < 1 for parts in (*grid, *steps)):
            return f"grid = {list(grid)} and steps = {list(steps)} should be at least 1 everywhere"
        if sorted(order) != list(range(rank)):
            return f"order = {list(order)} should be a permutation of the {rank} dimensions"
        if len(cores) != math.prod(grid):
            return f"the grid has {math.prod(grid)} tiles but cores has {len(cores)} entries: expected one a tile"
        if any(core < 0 for core in cores) or len(set(cores)) != len(cores):
            return f"cores = {list(cores)} should be distinct core numbers"
        if multiples and (len(multiples) != rank or min(multiples) < 1):
            return f"multiples = {list(multiples)} should be {rank} numbers of at least 1"
        return None

    def verify(self) -> None:
        if problem := self.check(self.grid, self.cores, self.steps, self.order, self.multiples):
            raise VerifyException(problem)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        lists: list[list[int]] = []
        with parser.in_angle_brackets():
            start = parser.pos
            for number, field in enumerate(_FIELDS):
                if field == "multiples" and parser.parse_optional_punctuation(",") is None:
                    break
                if number and field != "multiples":
                    parser.parse_punctuation(",")
                parser.parse_keyword(field)
                parser.parse_punctuation("=")
                lists.append(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))
            if any(abs(value) >= 1 << 31 for values in lists for value in values):
                parser.raise_error("numbers of a tiling should fit in 32 bits", start, parser.pos)
            if problem := cls.check(*lists):
                parser.raise_error(problem, start, parser.pos)
        lists[4:] = [list(_shortened(lists[4] if len(lists) > 4 else ()))]
        return [DenseArrayBase.from_list(i64, values) for values in lists]

    def print_parameters(self, printer: Printer) -> None:
        values = (self.grid, self.cores, self.steps, self.order, *((self.multiples,) if self.multiples else ()))
        with printer.in_angle_brackets():
            printer.print_string(", ".join(f"{name} = {list(one)}" for name, one in zip(_FIELDS, values, strict=False)))

    @staticmethod
    @lru_cache(KEPT_TILINGS)
    def of(tiling: Tiling) -> TilingAttr:
        """The attribute that holds a tiling."""
        return TilingAttr(tiling.grid, tiling.cores, tiling.steps, tiling.order, tiling.multiples)

    @property
    def data(self) -> Tiling:
        """The tiling as plain data, which computes tiles and steps."""
        return Tiling(self.grid, self.cores, self.steps, self.order, self.multiples)

    def tiles(self, sizes: Sequence[int]) -> Iterator[tuple[int, Box]]:
        """(core, tile) for an iteration space of these sizes, in row-major order; tiles may be empty."""
        yield from self.data.tile_boxes(sizes).items()

    def step_boxes(self, tile: Box) -> Iterator[tuple[tuple[int, ...], Box]]:
        """(index in each dimension, box) of each step of a tile, in the order of execution."""
        tiling = self.data
        yield from zip(tiling.step_indices(), tiling.step_boxes(tile), strict=True)


def _shortened(multiples: Sequence[int]) -> Sequence[int]:
    """The multiples of a tiling; empty if all are 1."""
    return () if all(one == 1 for one in multiples) else multiples

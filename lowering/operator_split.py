"""An operator that does not compile alone becomes several of its kind on parts of its data."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ..analysis.operator_parts import Parts, choose_parts, data_bytes
from ..chips import Chip
from ..dialects.dataflow import ConcatOp, ReshapeOp, SliceOp, WeightOp
from ..dialects.dataflow.tiling import Box, TilingInterface
from ..support.errors import ResourceError
from ..transforms.dataflow_split_to_fit import core_limit
from ..transforms.split_operator import Splitter
from .piece_cache import Failure

MARGIN = 0.75
"""Parts aim at this share of what would just fit: beside an operator's data stand its neighbours' and buffers."""


class OperatorSplitter:
    """Splits operators of one function, one at a time, in any order."""

    def __init__(self, function: FuncOp, chip: Chip) -> None:
        self._chip = chip
        module = function.parent_op()
        inner = module.walk() if isinstance(module, ModuleOp) else function.walk()
        self._names = {op.sym_name.data for op in inner if isinstance(op, WeightOp)}
        self._pieces: dict[SSAValue, dict[Box, SSAValue]] = {}
        self._grids: dict[SSAValue, Parts] = {}

    def split(self, op: Operation, failure: Failure) -> str | None:
        """
        Split an operator in place, into parts small enough that the failure should not come again. Returns what was
        done, as a sentence; None if it is of a kind that is not split.

        Raises ResourceError where not even the smallest parts are small enough.
        """
        if not isinstance(op, TilingInterface) or isinstance(op, ReshapeOp | SliceOp | ConcatOp):
            return None
        sizes = tuple(dim.size for dim in op.iteration_space())
        whole = data_bytes(op, sizes)
        limit = self._limit(whole, failure)
        name = op.results[0].name_hint or op.name.partition(".")[2]
        parts = choose_parts(op, limit, name)
        # Parts of a producer that was split are read as they are; slices that others made may stand further down.
        splitter = Splitter(self._names)
        splitter.pieces = {value: dict(boxes) for value, boxes in self._pieces.items()}
        splitter.grids = dict(self._grids)
        known = set(splitter.grids)
        splitter.split(op, parts)
        for value, grid in splitter.grids.items():
            if value not in known:
                boxes = splitter.pieces[value]
                self._pieces[value], self._grids[value] = dict(boxes), grid
        count = " x ".join(str(part) for part in parts)
        return f"its operator is split into {count} parts of its iteration space, of at most {limit:,} bytes of data"

    def _limit(self, whole: int, failure: Failure) -> int:
        """Bytes of data that a part should have."""
        if failure.needed > failure.available > 0:
            limit = int(whole * failure.available / failure.needed * MARGIN)
        else:
            limit = whole // 2
        if limit < 1:
            raise ResourceError("its data cannot be made any smaller", "memory for an operator's data", whole, limit)
        # Parts that fit in a core are as small as any failure asks for.
        return min(max(limit, min(core_limit(self._chip), whole // 2)), whole - 1)

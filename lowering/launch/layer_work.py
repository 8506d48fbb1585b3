"""The layers of a network, for a bound of its time in which layers run one after the other."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...chips.cycles import RATE_BY_WIDTH
from ...dialects.dataflow.tiling import Box, OpCost, TilingInterface
from ...dialects.dataflow.types import element_bytes, element_of
from ...dialects.manycore import TaskOp
from ...emulator.reports.network_layers import NetworkLayer
from .dram_segments import bytes_of
from .ideal_work import runs_of


def network_layers(function: FuncOp) -> list[NetworkLayer]:
    """The products of a function in order, each with the vector operations up to the next one."""
    counting = _Counting(function)
    for op in function.walk():
        if isinstance(op, TilingInterface):
            counting.add(op)
    return counting.layers


class _Counting:
    """Adds up the work of operations, layer by layer."""

    def __init__(self, function: FuncOp) -> None:
        self.layers: list[NetworkLayer] = []
        self.read: set[SSAValue] = set()
        """Constants and inputs that a layer reads."""
        last = function.body.block.last_op
        self.outputs = set(last.operands) if last is not None else set[SSAValue]()

    def add(self, op: TilingInterface) -> None:
        """Count an operation."""
        cost = op.cost(Box.whole(tuple(dim.size for dim in op.iteration_space())))
        runs = runs_of(op)
        product, work = _product(cost), 0
        if product == (0, 0, 0, 0):
            work = runs * -(-cost.vpu_ops // _rate(op.results[0]))
        values = {source_of(value) for value in (*op.operands, *op.results)}
        fresh = {value for value in values - self.read if is_loaded(value)}
        self.read |= fresh
        loaded = sum(_bytes_needed(op, value) for value in fresh)
        stored = sum(bytes_of(value) for value in values & self.outputs)
        held = sum(bytes_of(value) for value in values if not is_loaded(value))
        if product != (0, 0, 0, 0) or not self.layers:
            rate = RATE_BY_WIDTH.get(cost.item_bytes, 1) if cost.item_bytes else _rate((*op.operands, *op.results)[0])
            self.layers.append(NetworkLayer(product, rate, work, loaded, stored, held, runs))
            return
        layer = self.layers[-1]
        self.layers[-1] = NetworkLayer(
            layer.product, layer.rate, layer.vector_ops + work, layer.loaded_bytes + loaded,
            layer.stored_bytes + stored, max(layer.held_bytes, held), layer.runs,
        )  # fmt: skip


def source_of(value: SSAValue) -> SSAValue:
    """The operand that an argument of a task's body represents; other values themselves."""
    while isinstance(value, BlockArgument) and isinstance(task := value.block.parent_op(), TaskOp):
        value = task.operands[value.index]
    return value


def is_loaded(value: SSAValue) -> bool:
    """Whether a value is a constant, or an input of the network."""
    if isinstance(value, BlockArgument):
        return isinstance(value.block.parent_op(), FuncOp)
    owner = value.owner
    return isinstance(owner, Operation) and not owner.operands and not isinstance(owner, TaskOp)


def _bytes_needed(op: TilingInterface, value: SSAValue) -> int:
    """Bytes of a constant or input that an operation reads: all, or at most those of the result if it gathers rows."""
    whole = Box.whole(tuple(dim.size for dim in op.iteration_space()))
    at = [index for index, operand in enumerate(op.operands) if source_of(operand) == value]
    gathered = bool(at) and all(op.operand_slice(index, whole).indexed for index in at)
    return min(bytes_of(value), bytes_of(op.results[0])) if gathered else bytes_of(value)


def _product(cost: OpCost) -> tuple[int, int, int, int]:
    """
    The product that a matrix unit computes; for encoded weights, that with as many inputs as a neuron has weights.
    """
    if cost.encoded is not None:
        work = cost.encoded
        return work.products, work.rows, max(round(work.stored / max(work.fibers, 1)), 1), work.fibers
    return cost.matmul or (0, 0, 0, 0)


def _rate(value: SSAValue) -> int:
    """Number of elements of a value's type that a unit computes in the time of one f32."""
    return RATE_BY_WIDTH.get(element_bytes(element_of(value)), 1)

"""`meshloom-compile --try`: cycles with other options; and the hint about weights with zeros."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ..support.errors import MeshloomError

if TYPE_CHECKING:
    from ..chips import Chip
    from ..lowering.driver.compile_network import CompiledNetwork, CompileOptions

BATCH_FACTOR = 8
"""Factor by which the batch is increased."""


@dataclass(frozen=True)
class Tried:
    """An option, and the network's cycles with it."""

    option: str
    cycles: int | None
    """Cycles of a run of the whole batch; None if it does not compile."""
    factor: int = 1
    what: str = ""
    """The effect of the option, or the reason why it does not compile."""


def share_of_zeros(module: ModuleOp) -> float:
    """The share of zeros in the constant weights of all matrix products and convolutions; 0 if there are no weights."""
    import numpy as np

    from ..transforms.shared.contraction_weights import numeric_values, weight_uses

    sources = {use.source: None for use in weight_uses(module)}
    zeros = elements = 0
    for source in sources:
        values = numeric_values(source)
        elements += values.size
        zeros += values.size - int(np.count_nonzero(values))
    return zeros / elements if elements else 0.0


def zeros_hint(module: ModuleOp) -> str:
    """A line for networks whose weights are mostly zero; "" for others."""
    share = share_of_zeros(module)
    if share <= 0.5:
        return ""
    return f"{100 * share:.0f}% of the weights are zero: --sparse encodes them where that is faster"


def try_options(
    module: ModuleOp, chip: Chip, asked: CompileOptions, batch: Callable[[], ModuleOp] | None = None
) -> list[Tried]:
    """
    Compile `module`, which is not changed, with each further option that may reduce the cycles. `batch` returns the
    network with a batch `BATCH_FACTOR` times as large.
    """
    from ..lowering.options.effort import find_effort

    found: list[Tried] = []
    if not asked.sparse and share_of_zeros(module):
        found.append(_tried("--sparse", module.clone, chip, replace(asked, sparse=True)))
    if asked.subgraphs.effort == find_effort("default"):
        high = replace(asked, subgraphs=replace(asked.subgraphs, effort=find_effort("high")))
        found.append(_tried("--effort high", module.clone, chip, high))
    if batch is not None:
        found.append(_tried(f"a batch {BATCH_FACTOR} times as large", batch, chip, asked, BATCH_FACTOR))
    return found


def _tried(option: str, make: Callable[[], ModuleOp], chip: Chip, asked: CompileOptions, factor: int = 1) -> Tried:
    from ..lowering.driver.compile_network import compile_network

    try:
        compiled = compile_network(make(), chip, asked)
    except MeshloomError as error:
        return Tried(option, None, factor, str(error).splitlines()[0])
    return Tried(option, emulated_cycles(compiled), factor, _encoded(compiled))


def emulated_cycles(compiled: CompiledNetwork) -> int:
    """Cycles of a run, or between two inputs on several chips. Cycles of sparse instructions are the declared ones."""
    from ..lowering.driver.compile_network import cycles_of
    from ..lowering.options.effort import find_effort

    return cycles_of(compiled.compilation, find_effort("default"))


def _encoded(compiled: CompiledNetwork) -> str:
    """The weights that are encoded, if encoding was requested."""
    if compiled.sparse is None:
        return ""
    if not compiled.sparse.taken:
        return "nothing is encoded"
    names = [plan.use.label for plan in compiled.sparse.plans if plan.is_sparse]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"encodes {shown}" if names else "removes zero channels"


def tried_text(cycles: int, tried: list[Tried]) -> str:
    """The tried options, best first; `cycles` are those with the given options."""
    if not tried:
        return "--try: no other option may reduce the cycles of this network"
    lines = [f"also compiled with other options ({cycles:,} cycles with the given ones):"]
    for one in sorted(tried, key=lambda one: float("inf") if one.cycles is None else one.cycles / one.factor):
        if one.cycles is None:
            lines.append(f"  {one.option}: does not compile: {one.what}")
            continue
        change = 100 * (one.cycles / one.factor / max(cycles, 1) - 1)
        each = f", {one.cycles / one.factor:,.0f} for each" if one.factor > 1 else ""
        what = f"; {one.what}" if one.what else ""
        lines.append(f"  {one.option}: {one.cycles:,} cycles{each} ({change:+.1f}%){what}")
    return "\n".join(lines)


def larger_batch(model: Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]] | None:
    """
    The shapes of the inputs of an ONNX model with a batch `BATCH_FACTOR` times as large; None if the first dimension
    of some input is not symbolic.
    """
    if model.suffix.lower() != ".onnx" or not shapes:
        return None
    import onnx

    graph = onnx.ModelProto.FromString(model.read_bytes()).graph
    constants = {tensor.name for tensor in graph.initializer}
    for value in graph.input:
        dims = value.type.tensor_type.shape.dim
        if value.name not in constants and (value.name not in shapes or not dims or dims[0].HasField("dim_value")):
            return None
    return {name: (shape[0] * BATCH_FACTOR, *shape[1:]) for name, shape in shapes.items() if shape}

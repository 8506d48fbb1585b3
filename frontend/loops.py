"""Import of ONNX loops as `dataflow.loop`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Region

from ..dialects.dataflow import Along, Ending, LoopOp, YieldOp
from .builder import Builder
from .tensors import NodeError, Tensor, TensorSequence, tensor_type


@dataclass
class EndsByValues:
    """Run-time conditions by which a loop ends before its largest number of steps."""

    count: Tensor | None = None
    """The number of steps, int64; None: the largest number."""
    going: Tensor | None = None
    """Whether another step follows, a bool computed in the body; set while the body is built."""
    must_end: bool = False
    """Whether it is an error if `going` asks for another step after the last one."""
    masked: bool = False
    """Whether steps after the first `count` would change no carried value and return 0."""


Body = Callable[[list[Tensor], list[Tensor]], tuple[Sequence[Tensor], Sequence[Tensor]]]
"""(carried values, slices of a step) -> (carried values of the next step, stacked values of this step)."""


def run_loop(
    b: Builder,
    steps: int,
    carried: Sequence[Tensor],
    scanned: Sequence[tuple[Tensor, Along]],
    stacks: Sequence[Along],
    body: Body,
    ends: EndsByValues | None = None,
) -> tuple[list[Tensor], list[Tensor]]:
    """
    The carried values after the last step, and the stacked values. Creates a loop, or unrolls it if it has fewer than
    two steps or all inputs are known. `ends` must be `masked`, as it is ignored if the loop is unrolled. Raises the
    exceptions of `build_loop`.
    """
    entering = [*carried, *(value for value, _ in scanned)]
    if steps > 1 and any(one.array is None for one in entering):
        results = build_loop(b, steps, carried, scanned, stacks, body, ends)
        return results[: len(carried)], results[len(carried) :]
    return unroll(b, steps, carried, scanned, stacks, body)


def unroll(
    b: Builder,
    steps: int,
    carried: Sequence[Tensor],
    scanned: Sequence[tuple[Tensor, Along]],
    stacks: Sequence[Along],
    body: Body,
) -> tuple[list[Tensor], list[Tensor]]:
    """As `run_loop`, but always unrolled: single steps may have known values that a loop does not have."""
    state = list(carried)
    rows: list[list[Tensor]] = []
    for step in range(steps):
        slices = [_slice(b, value, along, along.position(step, steps)) for value, along in scanned]
        after, given = body(state, slices)
        state = list(after)
        rows.append(list(given))
    if rows:
        like = rows[0]
    else:  # the body's results are not used, only their shapes
        none = [b.full(along.of_step(value.shape), 0, value.dtype) for value, along in scanned]
        like = body(state, none)[1]
    stacked: list[Tensor] = []
    for number, along in enumerate(stacks):
        if not steps:
            stacked.append(b.full(along.of_all(like[number].shape, 0), 0, like[number].dtype))
            continue
        ones = [b.reshape(row[number], along.of_all(row[number].shape, 1)) for row in rows]
        stacked.append(b.concat(ones[::-1] if along.backwards else ones, along.axis))
    return state, stacked


def _slice(b: Builder, value: Tensor, along: Along, position: int) -> Tensor:
    return b.reshape(b.slice_axis(value, along.axis, position, 1), along.of_step(value.shape))


def build_loop(
    b: Builder,
    steps: int,
    carried: Sequence[Tensor],
    scanned: Sequence[tuple[Tensor, Along]],
    stacks: Sequence[Along],
    body: Body,
    ends: EndsByValues | None = None,
) -> list[Tensor]:
    """
    Create a loop of at most `steps` steps. Returns the carried values after the last step, then the stacked values. All
    arguments of the body are computed values. `ends`: conditions that end the loop early. Raises NodeError for
    sequences and if carried values change their shape or type, and the exceptions of the body; no operation is created
    then.
    """
    for one in (*carried, *(value for value, _ in scanned)):
        if isinstance(one, TensorSequence):
            raise NodeError("loops cannot carry sequences")
    starts = [b.value(one) for one in carried]
    whole = [(b.value(one), along) for one, along in scanned]
    slices = [Tensor(along.of_step(one.shape), one.dtype) for one, along in scanned]
    arguments = [Tensor(one.shape, one.dtype, name=one.name) for one in carried] + slices
    block = Block(arg_types=[tensor_type(one.dtype, one.shape) for one in arguments])
    for argument, value in zip(arguments, block.args, strict=True):
        argument.value = value
    try:
        with b.inside(block):
            after, rows = body(arguments[: len(carried)], slices)
            for old, new in zip(carried, after, strict=True):
                if (old.shape, old.dtype) != (new.shape, new.dtype):
                    raise NodeError(f"a carried value begins as {old.dtype}{list(old.shape)} and becomes another")
            going = () if ends is None or ends.going is None else (ends.going,)
            b.ops.insert(YieldOp([b.value(one) for one in (*after, *rows, *going)]))
    except BaseException:
        for op in list(block.ops)[::-1]:
            op.detach()
            op.erase(safe_erase=False)
        raise
    ending = Ending()
    if ends is not None:
        count = None if ends.count is None else b.value(ends.count)
        ending = Ending(count, ends.going is not None, ends.must_end, ends.masked)
    loop = b.ops.insert(LoopOp(steps, starts, whole, stacks, Region(block), ending))
    results = [Tensor(one.shape, one.dtype) for one in carried]
    results += [Tensor(along.of_all(one.shape, steps), one.dtype) for one, along in zip(rows, stacks, strict=True)]
    for result, value in zip(results, loop.outputs, strict=True):
        result.value = value
    return results

"""Import of loops whose number of iterations is known at run time only, as loops with a largest number of steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.dataflow import Along
from ..builder import Builder
from ..loops import EndsByValues, build_loop
from ..node import Node
from ..tensors import INT64, Absent, NodeError, Tensor, TensorSequence, known


def dynamic_loop(node: Node, longest: int, needs: SSAValue | None = None) -> list[Tensor]:
    """
    The results of a `Loop` whose trip count or condition, or both, depend on the network's inputs. The largest number
    of steps is the trip count if it is known and neither `longest` nor the option `--max-steps` is smaller; otherwise
    it is the value of this option.

    Scan outputs have as many rows as the loop has steps at most; `Tensor.rows` of them holds the number of steps that
    were executed. Raises NodeError if the largest number of steps is not known (`needs`: the value that would give it
    if it were known at import), for state that a loop cannot carry, and the exceptions of `build_loop`.
    """
    b, limit, going = node.build, node.get(0), node.get(1)
    state = [node.any(index) for index in range(2, len(node.inputs))]
    if any(isinstance(one, TensorSequence | Absent) for one in state):
        raise NodeError(
            "its number of iterations is known only at run time, and its state has a sequence or an optional", needs
        )
    most, whole = _most(node, longest, needs)
    count = _count(b, limit, going, most)
    ends = EndsByValues(count)
    made = _counted(node, state, most, ends, whole)
    *states, steps = made[: len(state) + 1]
    if ends.going is None and count is None:
        steps = known(most, np.int64)
    elif ends.going is None and count is not None:
        steps = count
    rows = made[len(state) + 1 :]
    for one in rows:
        one.rows = steps
    return [*states, *rows]


def _most(node: Node, longest: int, needs: SSAValue | None) -> tuple[int, bool]:
    """The largest number of steps, and whether the network never needs more."""
    limit, option = node.get(0), node.scope.most_steps
    stated = None if limit is None or limit.array is None else max(0, int(limit.array.reshape(-1)[0]))
    if stated is not None and stated <= longest and (option is None or stated <= option):
        return stated, True
    if option is None:
        raise NodeError(
            "the number of iterations is known only at run time: give a maximum with --max-steps N (in "
            "Python: max_steps=)",
            needs,
        )
    if not 1 <= option <= longest:
        raise NodeError(f"--max-steps {option}: expected 1 to {longest}")
    if limit is not None and stated is None:
        node.scope.note_most(limit, option)
        return option, True
    return option, False


def _count(b: Builder, limit: Tensor | None, going: Tensor | None, most: int) -> Tensor | None:
    """The number of steps by the trip count, 0 if the initial condition is false; None: `most`."""
    count = None
    if limit is not None and limit.array is None:
        count = b.maximum(b.cast(b.reshape(limit, []), INT64), 0)
    if going is not None and going.array is None:
        count = b.select(b.reshape(going, []), known(most, np.int64) if count is None else count, 0)
    return count


def _counted(node: Node, state: Sequence[Tensor], most: int, ends: EndsByValues, whole: bool) -> list[Tensor]:
    """
    Create the loop, which carries the number of executed steps besides the state; sets `ends`. Returns the state, the
    number of steps, and the scan outputs.
    """
    body, b = node.graph("body"), node.build

    def step(carried: list[Tensor], slices: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        *inside, before = carried
        going, *results = node.scope.subgraph(body, [slices[0], known(True), *inside])
        if going.array is None or not bool(going.array.reshape(-1)[0]):
            ends.going = b.reshape(going, [])
            ends.must_end = not whole
        elif not whole:
            raise NodeError("its condition is always true, and it has no trip count")
        return [*results[: len(state)], b.add(before, known(1, np.int64))], results[len(state) :]

    stacks = [Along(0)] * (len(body.output) - 1 - len(state))
    numbers = b.iota(most, INT64)
    return build_loop(b, most, [*state, known(0, np.int64)], [(numbers, Along(0))], stacks, step, ends)

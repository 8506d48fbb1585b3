"""Verification of stashes over a whole block: no reads of offloaded tensors, no cyclic control edges."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..dataflow.reshape import ReshapeOp
from .stash import AwaitOp, CompletionOp, MoveOp, tokens_of

NEVER = 1 << 62


def check_tokens(op: Operation) -> None:
    """Raises VerifyException if an operation waits for a later one of its block, as one in every cycle does."""
    late = [
        token.owner
        for token in tokens_of(op)
        if isinstance(token.owner, Operation)
        and token.owner.parent is op.parent
        and not (token.owner is not op and _stands_before(token.owner, op))
    ]
    if not late:
        return
    if (path := _path(late[0], op)) is not None:
        circle = ", which waits for ".join(one.name for one in (op, *path))
        raise VerifyException(f"control edges form a cycle: {circle}")
    raise VerifyException(f"waits for a token of {late[0].name}, which is later in the block")


def _stands_before(first: Operation, second: Operation) -> bool:
    op = first.next_op
    while op is not None:
        if op is second:
            return True
        op = op.next_op
    return False


def _path(start: Operation, end: Operation) -> list[Operation] | None:
    """
    A path of operations from `start` to `end`, each of which waits for data or a token of the next; None if there is
    none.
    """
    came: dict[Operation, Operation | None] = {start: None}
    todo = [start]
    while todo:
        op = todo.pop()
        if op is end:
            path: list[Operation] = []
            step: Operation | None = op
            while step is not None:
                path.append(step)
                step = came[step]
            return path[::-1]
        for value in op.operands:
            if isinstance(owner := value.owner, Operation) and owner not in came:
                came[owner] = op
                todo.append(owner)
    return None


def memory_of(value: SSAValue) -> SSAValue:
    """The value whose memory a value uses: that behind reshapes and `memory.await`; else the value itself."""
    while isinstance(owner := value.owner, ReshapeOp | AwaitOp):
        value = owner.operands[0]
    return value


def views_of(value: SSAValue) -> Iterator[SSAValue]:
    """A value and all values that use the same memory."""
    todo = [value]
    while todo:
        yield (view := todo.pop())
        todo += [use.operation.results[0] for use in view.uses if isinstance(use.operation, ReshapeOp | AwaitOp)]


def check_stashes(op: MoveOp) -> None:
    """
    Raises VerifyException if an operation reads a tensor that has been offloaded. Checks a whole block, at its first
    reduction or restoration.
    """
    block = op.parent
    if block is None or next((one for one in block.ops if isinstance(one, MoveOp)), None) is not op:
        return
    position = {one: number for number, one in enumerate(block.ops)}
    for reduction in position:
        if isinstance(reduction, MoveOp) and not reduction.RESTORES:
            _check_reduction(reduction, block, position)


def _check_reduction(reduction: MoveOp, block: Block, position: dict[Operation, int]) -> None:
    begins, back = position[reduction], _back(reduction, position)
    for view in views_of(memory_of(reduction.source)):
        for use in view.uses:
            user: Operation | None = use.operation
            while user is not None and user.parent is not block:
                user = user.parent_op()
            if user is None or isinstance(user, CompletionOp) or position[user] <= begins:
                continue
            waited = isinstance(user, AwaitOp) or _is_kept(view, begins, position)
            if waited and position[user] < back:
                continue
            name = f" %{view.name_hint}" if view.name_hint else ""
            where = "was restored elsewhere" if waited else "was offloaded"
            raise VerifyException(
                f"{user.name} reads{name} after it {where} ({reduction.name}): "
                f"read the restored value or, before the restoration, the result of memory.await"
            )


def _back(reduction: MoveOp, position: dict[Operation, int]) -> int:
    """Position of the first restoration of a tensor."""
    first = NEVER
    todo: list[Operation] = [reduction]
    while todo:
        for use in todo.pop().results[0].uses:
            op = use.operation
            if not isinstance(op, MoveOp) or op not in position:
                continue
            if op.RESTORES:
                first = min(first, position[op])
            else:
                todo.append(op)
    return first


def _is_kept(view: SSAValue, begins: int, position: dict[Operation, int]) -> bool:
    """Whether a view is defined through a `memory.await` after the reduction."""
    while isinstance(owner := view.owner, ReshapeOp | AwaitOp):
        if isinstance(owner, AwaitOp) and position.get(owner, -1) > begins:
            return True
        view = owner.operands[0]
    return False

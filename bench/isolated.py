"""
Calls in separate processes, so that a crash or an endless loop of one does not affect the others.

Such a call is repeated once, in a new process: if earlier calls in its process were the cause, it has a result then.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeAlias, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Announce: TypeAlias = Callable[[str], None]
"""The function with which a call announces its current stage."""


@dataclass(frozen=True)
class Death:
    """A call without a result."""

    stage: str
    """The last stage that the call announced; empty if none."""
    words: str
    """A description of the end."""
    raised: bool = False
    """Whether it raised an exception; the description is then the traceback."""


class _Worker(Generic[Item, Result]):
    """A process that makes one call after the other."""

    def __init__(self, function: Callable[[Item, Announce], Result]) -> None:
        context: Any = multiprocessing.get_context("fork")
        self.link, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(function, other, self.link), daemon=True)
        self.process.start()
        other.close()
        self.item: Item | None = None
        self.again = False
        self.stage = ""
        self.deadline = 0.0

    def begin(self, item: Item, again: bool, seconds: float) -> None:
        """Make a call; `again` if it is its second one."""
        self.item, self.again, self.stage, self.deadline = item, again, "", time.monotonic() + seconds
        self.link.send(item)

    def end(self) -> None:
        """Kill the process, if it still runs."""
        self.process.kill()
        self.process.join()
        self.link.close()


def _serve(function: Callable[[Any, Announce], Any], link: Connection, callers: Connection) -> None:
    callers.close()  # otherwise the worker would not notice the end of the caller
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is handled by the process that makes the calls

    def announce(stage: str) -> None:
        link.send(("stage", stage))

    while True:
        try:
            item = link.recv()
        except EOFError:
            return
        try:
            link.send(("result", function(item, announce)))
        except Exception:
            link.send(("error", traceback.format_exc()))


def call_each(
    function: Callable[[Item, Announce], Result], items: Iterable[Item], processes: int, seconds: float
) -> Generator[tuple[Item, Result | Death], None, None]:
    """
    The result of `function` for each item, or its Death, in the order of completion.

    `function` takes an item and an `Announce`. A call may take `seconds`. A call that raises is not repeated.
    """
    todo = iter(items)
    second: deque[Item] = deque()
    idle: list[_Worker[Item, Result]] = []
    busy: list[_Worker[Item, Result]] = []
    try:
        while True:
            while len(busy) < processes:
                again = bool(second)
                try:
                    item = second.popleft() if again else next(todo)
                except StopIteration:
                    break
                worker = idle.pop() if idle and not again else _Worker(function)
                worker.begin(item, again, seconds)
                busy.append(worker)
            if not busy:
                return
            rest = min(worker.deadline for worker in busy) - time.monotonic()
            ready = wait([worker.link for worker in busy], max(0.0, rest))
            for worker in [*busy]:
                late = time.monotonic() > worker.deadline
                if worker.link not in ready and not late:
                    continue
                outcome = _answer(worker, seconds) if worker.link in ready else _late(worker, seconds)
                if outcome is None:
                    continue
                busy.remove(worker)
                item: Any = worker.item
                kind, value = outcome
                if kind == "result" and not worker.again:
                    idle.append(worker)
                else:
                    worker.end()
                if kind == "death" and not worker.again:
                    second.append(item)
                else:
                    yield item, value
    finally:
        for worker in (*idle, *busy):
            worker.end()


def _answer(worker: _Worker[Any, Any], seconds: float) -> tuple[str, Any] | None:
    """The result or the Death of a worker's call; None while it runs."""
    try:
        kind, value = worker.link.recv()
    except (EOFError, OSError):
        worker.process.join()
        code = worker.process.exitcode
        words = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return "death", Death(worker.stage, words)
    match kind:
        case "stage":
            worker.stage = value
            return None
        case "error":
            return "error", Death(worker.stage, value, raised=True)
        case _:
            return kind, value


def _late(worker: _Worker[Any, Any], seconds: float) -> tuple[str, Any]:
    return "death", Death(worker.stage, f"not done within {seconds:g} s")

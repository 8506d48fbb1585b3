"""Time measurement of a command: a tree of named, nested phases."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter, process_time


@dataclass
class Phase:
    """A phase: the sums over all its runs within the enclosing phase."""

    name: str
    runs: int = 0
    wall: float = 0.0
    """Elapsed time in seconds."""
    cpu: float = 0.0
    """CPU time of this process in seconds."""
    inner: dict[str, Phase] = field(default_factory=dict["str", "Phase"])

    @contextmanager
    def run(self) -> Generator[None]:
        """Context: measure one more run."""
        wall, cpu = perf_counter(), process_time()
        try:
            yield
        finally:
            self.runs += 1
            self.wall += perf_counter() - wall
            self.cpu += process_time() - cpu

    def lines(self, depth: int = 0) -> Iterator[tuple[int, Phase]]:
        """(depth, phase) of this phase and of those nested in it, in the order of their first runs."""
        yield depth, self
        for one in self.inner.values():
            yield from one.lines(depth + 1)


_current: ContextVar[Phase | None] = ContextVar("current phase", default=None)


@contextmanager
def phase(name: str) -> Generator[None]:
    """
    Context or decorator that measures a phase of this name. Its cost is negligible when phases are not measured.
    """
    outer = _current.get()
    if outer is None:
        yield
        return
    inner = outer.inner.setdefault(name, Phase(name))
    token = _current.set(inner)
    try:
        with inner.run():
            yield
    finally:
        _current.reset(token)


@contextmanager
def measured(root: Phase) -> Generator[None]:
    """Context: measure the phases that run inside, as children of `root`."""
    token = _current.set(root)
    try:
        with root.run():
            yield
    finally:
        _current.reset(token)

"""Compilation of several subgraphs, in this process or in several processes, with the same results."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Self

from xdsl.dialects.builtin import ModuleOp

from ...chips import Chip
from ...support.errors import InputError, MeshloomError, ResourceError
from ..cache.compile_cache import Failure, Outcome
from ..cache.subgraph_file import subgraph_from_bytes, subgraph_to_bytes
from ..cache.subgraph_text import SubgraphText
from ..ir.module_text import module_of_text
from ..options.effort import Effort
from .compile_subgraph import compile_subgraph


def compile_text(text: str, chip: Chip, effort: Effort) -> bytes | Failure:
    """As `compile_anonymous`, from the text of a subgraph to the bytes of its machine code."""
    found = compile_anonymous(module_of_text(text), chip, effort)
    return found if isinstance(found, Failure) else subgraph_to_bytes(found, chip)


def compile_anonymous(module: ModuleOp, chip: Chip, effort: Effort) -> Outcome:
    """
    Compile the module of a subgraph that was read from its text. The module becomes part of the result.

    Raises InputError for specified tilings that are not possible.
    """
    try:
        return compile_subgraph(module, chip, effort)
    except ResourceError as error:
        return Failure(str(error), error.resource, error.needed, error.available)
    except InputError:
        raise
    except MeshloomError as error:
        return Failure(str(error))


class CompilePool:
    """A pool of up to `jobs` processes, started on first use."""

    def __init__(self, chip: Chip, effort: Effort, jobs: int) -> None:
        self.chip, self.effort, self.jobs = chip, effort, jobs
        self._executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None):
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def compile(self, parts: Sequence[SubgraphText]) -> list[Outcome]:
        """Compile each subgraph; the result takes over its module. Raises MeshloomError if a process dies."""
        if self.jobs <= 1 or len(parts) <= 1:
            return [compile_anonymous(part.module, self.chip, self.effort) for part in parts]
        texts = [part.text for part in parts]
        if self._executor is None:
            # Forked processes have all modules loaded; without fork, processes load them again.
            method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
            self._executor = ProcessPoolExecutor(self.jobs, multiprocessing.get_context(method))
        try:
            count = len(texts)
            found = self._executor.map(compile_text, texts, [self.chip] * count, [self.effort] * count)
            return [one if isinstance(one, Failure) else subgraph_from_bytes(one, self.chip, "a part") for one in found]
        except BrokenProcessPool as error:
            raise MeshloomError("a process that compiled a part has died (out of memory?): try --jobs 1") from error

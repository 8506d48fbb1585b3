"""What all steps of a compilation share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ..chips import Chip
from .cache.compile_cache import CompileCache, cache_for
from .options.compilation_log import CompilationLog
from .options.progress import Progress
from .options.subgraph_options import SubgraphOptions


@dataclass(frozen=True)
class Session:
    """A compilation: its chip and options, the results that are known, and what it reports while it runs."""

    chip: Chip
    options: SubgraphOptions
    cache: CompileCache
    """Results of compiling subgraphs."""
    log: CompilationLog = field(default_factory=CompilationLog)
    progress: Progress = lambda stage: None

    @staticmethod
    def begin(
        chip: Chip,
        options: SubgraphOptions | None = None,
        progress: Progress = lambda stage: None,
        cache: CompileCache | None = None,
    ) -> Session:
        """A new compilation. `cache`: by default that of the folder in `options`, or an empty one."""
        options = SubgraphOptions() if options is None else options
        cache = CompileCache(chip, options.cache, options.effort) if cache is None else cache
        return Session(chip, options, cache, progress=progress)

    @staticmethod
    def of_pass(chip: Chip, options: SubgraphOptions) -> Session:
        """The compilation of a pass, which shares the cache of this process with other passes."""
        return Session(chip, options, cache_for(chip, options.effort))

    def with_options(self, **changes: Any) -> Session:
        """The same compilation with some options changed."""
        return replace(self, options=replace(self.options, **changes))

    def logged(self, log: CompilationLog) -> Session:
        """The same compilation with another log."""
        return replace(self, log=log)

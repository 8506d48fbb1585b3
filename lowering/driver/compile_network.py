"""Compile a network as the options specify; shared by the command line, Python and pass `meshloom`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from ...chips import Chip
from ...dialects.manycore.stage import stages_of
from ...emulator.timing.engine import run_timing
from ...support.errors import InputError
from ...support.garbage import rare_collections
from ..cache.compile_cache import CompileCache
from ..options.compilation_log import CompilationLog
from ..options.effort import Effort
from ..options.progress import Progress
from ..options.subgraph_options import SubgraphOptions, check_fusion
from ..session import Session
from .compile_function import Compilation
from .compile_module import compile_in_session

if TYPE_CHECKING:
    from ..offload.compile_launches import Budget
    from .chips_compilation import ChipsCompilation
    from .compile_sparse import SparseNetwork


@dataclass(frozen=True)
class CompileOptions:
    """The options of a compilation."""

    subgraphs: SubgraphOptions = field(default_factory=SubgraphOptions)
    budget: Budget | None = None
    """Budget of device memory; None: no limit but the chip's DRAM."""
    chips: int | None = None
    """Largest number of chips; None: one, or the number of stages of a network that is already cut."""
    sparse: bool = False
    """Encode weights with zeros if that is faster."""
    calibration: Mapping[str, NDArray[Any]] | None = None
    """
    Values for the inputs (storage form), on which activations are measured; activations that are often zero are
    encoded, too.
    """


@dataclass(frozen=True)
class CompiledNetwork:
    """The compiled network, and the decisions about sparse weights where they were requested."""

    compilation: Compilation | ChipsCompilation
    sparse: SparseNetwork[Compilation | ChipsCompilation] | None = None


@rare_collections()
def compile_network(
    module: ModuleOp,
    chip: Chip,
    options: CompileOptions,
    progress: Progress = lambda stage: None,
    on_note: Callable[[str], None] = lambda line: None,
    cache: CompileCache | None = None,
) -> CompiledNetwork:
    """
    Compile @main of a `dataflow`, `sparse` or tiled `manycore` module, which is changed. `on_note` gets the lines of
    the log as they are written. `cache`: results of compiling subgraphs.

    Raises InputError for options that cannot be combined, otherwise as `compile_in_session` and `compile_for_chips` do.
    """
    check_fusion(options.subgraphs)
    staged = bool(stages_of(module))
    if staged:
        _check_staged(options)
    if options.chips is not None:
        from .compile_chips import check_chips

        check_chips(options.chips)
    if options.calibration is not None and not options.sparse:
        raise InputError("calibration measures activations for --sparse: give both")

    begun = Session.begin(chip, options.subgraphs, progress, cache)

    def compile(one: ModuleOp) -> Compilation | ChipsCompilation:
        session = begun.logged(CompilationLog(on_note))
        # Imported here, because most compilations do not need them.
        if staged:
            from .compile_stages import compile_stages

            return compile_stages(one, session, options.budget)
        if options.chips is not None:
            from .compile_chips import compile_for_chips

            return compile_for_chips(one, options.chips, session, options.budget)
        return compile_in_session(one, session, options.budget)

    if not options.sparse:
        return CompiledNetwork(compile(module))
    from .compile_sparse import compile_encoded

    def cycles(one: Compilation | ChipsCompilation) -> int:
        return cycles_of(one, options.subgraphs.effort)

    progress("encode weights")
    found = compile_encoded(module, chip, compile, cycles, options.calibration)
    return CompiledNetwork(found.compilation, found)


def _check_staged(options: CompileOptions) -> None:
    """Raises InputError for options that apply only before a network is cut for several chips."""
    for given, option in (
        (options.chips is not None, "--chips"),
        (options.sparse, "--sparse"),
    ):
        if given:
            raise InputError(f"the module is already cut for several chips: leave out {option}")


def cycles_of(compilation: Compilation | ChipsCompilation, effort: Effort) -> int:
    """Cycles for one input; on several chips, cycles between two inputs."""
    if isinstance(compilation, Compilation):
        if effort.measure == "estimated":
            return sum(part.code.estimated_cycles for part in compilation.parts)
        return run_timing(compilation.executable).cycles
    return compilation.schedule.interval

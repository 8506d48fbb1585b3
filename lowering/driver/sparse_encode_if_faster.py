"""Pass `sparse-encode-if-faster`: encode weights with zeros if the whole network is then faster (spec 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...analysis.semantic_effect import SemanticEffect, reassociating
from ...chips import Chip
from ...dialects.dataflow.entry_function import find_main
from ...transforms.dataflow_note_loops import note_loops
from ...transforms.dataflow_roll_loops import reroll_loops
from ...transforms.shared.chip_option import chip_for
from ...transforms.shared.kept_loops import FEWEST_STEPS
from ..cache.compile_cache import cache_for
from ..ir.replace_module import replace_module
from ..options.progress import Progress
from .compile_network import CompileOptions, compile_network
from .search_options import SearchOptions

if TYPE_CHECKING:
    from .chips_compilation import ChipsCompilation
    from .compile_function import Compilation
    from .compile_sparse import SparseNetwork


@dataclass(frozen=True)
class SparseEncodeIfFasterPass(SearchOptions, ModulePass):
    """
    Encode weights that have zeros, and activations that are often zero for the inputs in `calibrate`, if the network is
    then faster: it is compiled and timed with and without, according to the other options.

    The options are those of `meshloom-compile`. `chip`: a name, or the path of a `.toml`; without it, the module's.
    """

    name = "sparse-encode-if-faster"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-4)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chip = chip_for(op, self.chip, f"{self.name}{{chip=NAME}}")
        if not self.calibrate:
            reroll_loops(find_main(op), FEWEST_STEPS)
        note_loops(op)
        encode_if_faster(op, chip, self.read(op, sparse=True))


def encode_if_faster(
    module: ModuleOp,
    chip: Chip,
    options: CompileOptions,
    progress: Progress = lambda stage: None,
    on_note: Callable[[str], None] = lambda line: None,
) -> SparseNetwork[Compilation | ChipsCompilation]:
    """
    Rewrite a module as pass `sparse-encode-if-faster` does; `options` ask for sparse execution. Returns the decisions,
    without the module.

    Raises what `compile_network` does.
    """
    cache = cache_for(chip, options.subgraphs.effort) if options.subgraphs.cache is None else None
    sparse = compile_network(module.clone(), chip, options, progress, on_note, cache).sparse
    assert sparse is not None
    replace_module(module, sparse.module)
    return sparse

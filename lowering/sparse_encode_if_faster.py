"""Pass `sparse-encode-if-faster`: weights with zeros are encoded where the whole network is faster for it (spec 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.nature import Nature, reassociating
from ..transforms.chip_option import chip_for
from .compile_network import compile_network
from .piece_cache import cache_for
from .replace_module import replace_module
from .search_options import SearchOptions


@dataclass(frozen=True)
class SparseEncodeIfFasterPass(SearchOptions, ModulePass):
    """
    Encode weights that have zeros, and neurons that are often zero for the inputs in `calibrate`, if the network is
    then faster: it is compiled with and without, as the other options say, and timed.

    The options are those of `meshloom-compile`. `chip`: a name, or the path of a `.toml`; without it, the module's.
    """

    name = "sparse-encode-if-faster"
    nature: ClassVar[Nature] = reassociating(1e-4)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chip = chip_for(op, self.chip, f"{self.name}{{chip=NAME}}")
        options = self.read(op, sparse=True)
        cache = cache_for(chip, options.subgraphs.effort)
        sparse = compile_network(op.clone(), chip, options, cache=cache).sparse
        assert sparse is not None
        replace_module(op, sparse.module)

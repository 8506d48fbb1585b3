"""The options of the compiler's search as texts, in the form of pass options and of the command line."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp

from ...support.errors import InputError
from ...transforms.shared.options import Number
from ..offload.budget_options import check_saves_memory, parse_budget
from ..options.effort import EffortOptions
from ..options.subgraph_options import SubgraphOptions, check_fusion, default_jobs, parse_subgraphs
from .calibration import calibration_inputs
from .compile_chips import check_chips
from .compile_module import check_cut
from .compile_network import CompileOptions


@dataclass(frozen=True)
class SearchOptions(EffortOptions):
    """The options of `meshloom-compile`. `chip`: a name, or the path of a `.toml`; without it, the module's."""

    chip: str | None = None
    chips: int | None = None
    subgraphs: str = "auto"
    fuse: str = "auto"
    calibrate: tuple[str, ...] = ()
    budget: Number | None = None
    save: str | None = None
    compress_to: str | None = None
    launch_bytes: Number | None = None
    offload: str | None = None

    @property
    def saves_memory(self) -> bool:
        """Whether the options ask for memory saving."""
        return self.budget is not None or self.offload is not None

    def read(self, module: ModuleOp, sparse: bool) -> CompileOptions:
        """The options for a module, with weights encoded or not. Raises InputError for values that are not valid."""
        options = self.checked(sparse)
        if not self.calibrate:
            return options
        return replace(options, calibration=calibration_inputs(module, self.calibrate))

    def checked(self, sparse: bool) -> CompileOptions:
        """The options without calibration. Raises InputError for values that are not valid."""
        rule, split_failures = parse_subgraphs(self.subgraphs)
        subgraphs = SubgraphOptions(rule, split_failures, self.fuse, default_jobs(), effort=self.read_effort())
        check_fusion(subgraphs)
        budget = None
        if self.saves_memory:
            check_cut(subgraphs)
            budget = parse_budget(self.budget, self.save, self.compress_to, self.launch_bytes, self.offload)
        else:
            check_saves_memory(self.save, self.compress_to, self.launch_bytes)
        if self.chips is not None:
            check_chips(self.chips)
        if self.calibrate and not sparse:
            raise InputError("--calibrate measures activations for --sparse: give both")
        return CompileOptions(subgraphs, budget, self.chips, sparse)

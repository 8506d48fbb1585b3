"""
The passes that `--sparse` inserts into those of `-p`, before the first one that makes tasks or subgraphs of operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec

from ..chips import Chip
from ..lowering.driver.compile_network import CompileOptions
from ..lowering.driver.search_options import SearchOptions
from ..lowering.driver.sparse_encode_if_faster import SparseEncodeIfFasterPass, encode_if_faster
from ..lowering.options.progress import Progress
from ..lowering.pipelines import encode_pass
from ..lowering.simplify import simplifying_passes
from ..transforms.shared.chip_option import ChipPass

if TYPE_CHECKING:
    from ..lowering.driver.chips_compilation import ChipsCompilation
    from ..lowering.driver.compile_function import Compilation
    from ..lowering.driver.compile_sparse import SparseNetwork


@dataclass(frozen=True)
class EncodeAsCompiled(ModulePass):
    """Pass `sparse-encode-if-faster` with the options of a compilation as objects; keeps its decisions."""

    name: ClassVar[str] = SparseEncodeIfFasterPass.name

    text: SearchOptions
    """The options that have a textual form, for reproducers."""
    chip: Callable[[ModuleOp], Chip]
    options: CompileOptions
    calibration: Callable[[ModuleOp], Mapping[str, NDArray[Any]] | None]
    progress: Progress
    on_note: Callable[[str], None]
    found: list[SparseNetwork[Compilation | ChipsCompilation]] = field(default_factory=list)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = replace(self.options, calibration=self.calibration(op))
        self.found.append(encode_if_faster(op, self.chip(op), options, self.progress, self.on_note))

    def spec(self, *, include_default: bool = False) -> ArgSpec:
        """The pass in textual form."""
        return encode_pass(self.text).spec(include_default=include_default)


@dataclass(frozen=True)
class ForChip(ModulePass):
    """A pass for a chip that has no name and no file."""

    name: ClassVar[str] = ""

    one: ChipPass
    chip: Chip

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.one.name)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.one.run(op, self.chip)

    def spec(self, *, include_default: bool = False) -> ArgSpec:
        """The pass in textual form, without the chip."""
        return replace(self.one, chip=None).spec(include_default=include_default)


def encoding_passes(encode: EncodeAsCompiled, unnamed: Chip | None = None) -> tuple[ModulePass, ...]:
    """
    `encode`, and the passes that rewrite the encoded operators into the form that tasks are made from: for its chip, or
    for an `unnamed` one.
    """
    passes = simplifying_passes(encode.text.chip)
    if unnamed is not None:
        passes = (ForChip(one, unnamed) if isinstance(one, ChipPass) else one for one in passes)
    return encode, *passes

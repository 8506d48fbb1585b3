"""`meshloom-compile`: from an ONNX model (or textual IR) to an executable for a chip."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support.errors import InputError
from ..support.files import all_or_none, write_atomically
from .budget import add_memory_options, read_memory_options, saving_table
from .chips import chips_summary, file_of_chip
from .cli import check_folders, make_parser, parse_shapes, run_tool
from .pass_plugins import add_pass_plugin_option, load_passes
from .progress import Progress
from .subgraphs import LogLines, add_subgraph_options, launch_sequence_table, read_subgraph_options
from .values import add_steps_option, add_value_option, parse_values

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import PassPipeline

    from ..chips import Chip
    from ..lowering.driver.chips_compilation import ChipsCompilation
    from ..lowering.driver.compile_module import Compilation
    from ..lowering.driver.compile_network import CompiledNetwork, CompileOptions
    from ..lowering.driver.compile_sparse import SparseNetwork
    from .report.sparse_layers import SparseLayer
    from .stages import Stages

EXAMPLES = """
  meshloom-compile net.onnx --chip edge -o net.mlx
  meshloom-compile net.onnx --chip my-chip.toml --shape image=1x3x224x224 -o net.mlx
  meshloom-compile speech.onnx --chip edge --shape input=1x576 --value sr=16000 -o speech.mlx
  meshloom-compile net.onnx --chip tiny -o net.mlx --print-ir-after-all stages
  meshloom-compile net.onnx --chip edge -o net.mlx --report net.html
  meshloom-compile large.onnx --chip tiny -o large.mlx --cache --log large.log
  meshloom-compile net.onnx --chip edge -o net.mlx --subgraphs fewest-bytes,parts=4 --fuse forward
  meshloom-compile large.onnx --chip edge --chips 4 -o large.mlx
  meshloom-compile pruned.onnx --chip edge -o net.mlx --sparse
  meshloom-compile pruned.onnx --chip edge -o net.mlx --sparse --calibrate image=photo.npy
  meshloom-compile net.onnx --chip edge --shape image=1x3x64x64 -o net.mlx --try
  meshloom-compile step.mlir --chip tiny -o step.mlx --budget 0.5 --save swap,recompute
  meshloom-compile instructions.mlir -o net.mlx
  meshloom-compile net.onnx --chip edge -o net.mlx -p 'canonicalize,dataflow-to-manycore,manycore-tile{chip=edge}'
  meshloom-compile net.onnx --chip edge -o net.mlx --load-pass-plugin my_pass.py -p my-pass
"""


def main(args: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return run_tool(lambda: _compile(_parser().parse_args(args)))


def _parser() -> argparse.ArgumentParser:
    parser = make_parser("meshloom-compile", "Compile a neural network for a many-core chip.", EXAMPLES)
    parser.add_argument("model", type=Path, help="an ONNX model, or a .mlir file")
    parser.add_argument(
        "--chip", metavar="NAME|FILE.toml", help="chip to compile for (not needed for a .mlir file that names its chip)"
    )
    parser.add_argument(
        "--chips", type=int, metavar="N", help="split the network into a pipeline of up to N such chips, one stage each"
    )
    parser.add_argument("-o", dest="output", type=Path, metavar="OUT.mlx", help="executable to write")
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=1x3x224x224",
        help="shape of an input with symbolic dimensions; 1..64x1x32: any length up to 64 (may be repeated)",
    )
    add_value_option(parser)
    add_steps_option(parser)
    parser.add_argument(
        "-p",
        "--passes",
        default="",
        metavar="PIPELINE",
        help="passes to run first, as for meshloom-opt; compilation continues from the level of their result",
    )
    add_pass_plugin_option(parser)
    parser.add_argument(
        "--sparse",
        action="store_true",
        help="encode the sparse weights of each layer where that is faster, before the first pass of -p that "
        "creates tasks or subgraphs",
    )
    parser.add_argument(
        "--calibrate",
        action="append",
        default=[],
        metavar="random|NAME=FILE.npy",
        help="with --sparse: also skip zero activations in layers where this input makes them frequent (may be "
        "repeated)",
    )
    parser.add_argument(
        "--print-pipeline",
        action="store_true",
        help="print the passes that these options select, in the syntax of -p, and exit",
    )
    parser.add_argument(
        "--print-ir-after-all", type=Path, metavar="DIR", help="write the IR after each stage to a file in DIR"
    )
    parser.add_argument("--report", type=Path, metavar="OUT.html", help="write an HTML report of the compilation")
    parser.add_argument(
        "--try",
        dest="try_options",
        action="store_true",
        help="also compile with other options that may reduce the cycles, and print the cycles of each (slower)",
    )
    add_memory_options(parser)
    add_subgraph_options(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    return parser


def _compile(options: argparse.Namespace) -> None:
    pipeline = _pipeline(options.passes, options.load_pass_plugin)
    if options.print_pipeline:
        from .print_pipeline import pipeline_text

        print(pipeline_text(options, pipeline, Progress("meshloom-compile", options.quiet).note))
        return
    named = _check(options)
    shapes, values = parse_shapes(options.shape), parse_values(options.value)
    subgraphs = read_subgraph_options(options)
    budget = read_memory_options(options)
    with Progress("meshloom-compile", options.quiet) as progress:
        progress("import")
        from ..lowering.driver.compile_network import CompileOptions, compile_network
        from ..lowering.linker.read_program import is_program
        from ..lowering.multi_chip.assembled import is_assembled
        from .levels import check_level
        from .passes_first import apply_given, calibration_of, find_chip
        from .read_module import read_module
        from .stages import Stages

        stages = Stages(progress, "import")
        log = LogLines(options.log, progress, options.quiet)
        asked = CompileOptions(subgraphs, budget, options.chips, options.sparse)
        module = read_module(options.model, shapes, progress.note, values, options.max_steps)
        encoded: list[SparseNetwork[Compilation | ChipsCompilation]] = []
        if options.print_ir_after_all is not None:
            stages.dump_to(options.print_ir_after_all, module)
        if pipeline is not None:
            encoded = apply_given(pipeline, module, options, asked, named, stages, log)
        stages.begin("check level")
        if is_program(module):
            _select_instructions(module, options.model, named)
        if is_assembled(module):
            _assemble(module, options, named, stages, encoded)
            return
        check_level(module)
        chip = find_chip(module, options.model, named)
        if encoded:
            asked = replace(asked, sparse=False)
        elif options.calibrate:
            asked = replace(asked, calibration=calibration_of(module, options.calibrate))
        before = module.clone() if options.try_options else None
        if not options.quiet and not asked.sparse and not encoded:
            _hint(module, progress)
        try:
            compiled = compile_network(module, chip, asked, stages.note, log)
        finally:
            log.write()
        compilation, sparse = compiled.compilation, encoded[0] if encoded else compiled.sparse
        layers = _layers(options, sparse)
        stages.levels(lambda: _levels(compilation))
        stages.note("write")
        slower = sparse is not None and sparse.timed is not None and not sparse.taken
        _write(options, compilation, stages, layers, not slower)
        tried = "" if before is None else _try(options, before, chip, asked, compiled, stages)
    if not options.quiet:
        _print_summary(options.output.name, compilation, sparse, tried)


def _print_summary(
    name: str,
    compilation: Compilation | ChipsCompilation,
    sparse: SparseNetwork[Compilation | ChipsCompilation] | None,
    tried: str,
) -> None:
    """Print the summary of the executable, the decision about sparse weights, and the cycles with other options."""
    print(_summary(name, compilation))
    if sparse is not None:
        _print_dense_weights(sparse)
    if tried:
        print(tried)


def _hint(module: ModuleOp, progress: Progress) -> None:
    """Print a note about `--sparse` if most weights of a network of operators are zero."""
    from ..lowering.ir.below_operators import below_operators
    from .tried_options import zeros_hint

    if below_operators(module) is None and (hint := zeros_hint(module)):
        progress.note(hint)


def _layers(
    options: argparse.Namespace, sparse: SparseNetwork[Compilation | ChipsCompilation] | None
) -> list[SparseLayer]:
    """The decisions about weights, for the report; empty without a report."""
    if sparse is None or options.report is None:
        return []
    from .report.sparse_layers import sparse_layers

    return sparse_layers(sparse.plans)


def _check(options: argparse.Namespace) -> Chip | None:
    """The chip of `--chip`. Raises InputError for options that are missing or cannot be combined."""
    from ..chips import load_chip

    if options.output is None:
        raise InputError("no output file is given: use -o OUT.mlx")
    named = None if options.chip is None else load_chip(options.chip)
    if named is None and options.model.suffix.lower() != ".mlir":
        raise InputError("no chip is given: use --chip NAME, or --chip FILE.toml")
    files = [options.model] if options.chip is None else [options.model, Path(options.chip)]
    check_folders(options.output, options.report, options.log, inputs=files)
    if options.chips is not None:
        from ..lowering.driver.compile_chips import check_chips

        check_chips(options.chips)
    if options.calibrate and not options.sparse:
        raise InputError("--calibrate measures activations for --sparse: give both")
    return named


def _try(
    options: argparse.Namespace,
    module: ModuleOp,
    chip: Chip,
    asked: CompileOptions,
    compiled: CompiledNetwork,
    stages: Stages,
) -> str:
    """Results with other options; `module` is the network before compilation."""
    from .read_module import read_module
    from .tried_options import emulated_cycles, larger_batch, tried_text, try_options

    stages.note("try other options")
    shapes = None if options.passes or options.calibrate else larger_batch(options.model, parse_shapes(options.shape))

    def batch() -> ModuleOp:
        return read_module(
            options.model, shapes or {}, lambda text: None, parse_values(options.value), options.max_steps
        )

    return tried_text(emulated_cycles(compiled), try_options(module, chip, asked, None if shapes is None else batch))


def _print_dense_weights(sparse: SparseNetwork[Any]) -> None:
    """The message about weights with removed channels, and about dense weights with the reasons."""
    from .dense_weights import dense_weights_text, removed_channels_text

    for text in (removed_channels_text(sparse), dense_weights_text(sparse)):
        if text:
            print(text)


def _levels(compilation: Compilation | ChipsCompilation) -> list[tuple[str, ModuleOp]]:
    """The module at each lower level, down to instructions."""
    from ..lowering.driver.compile_module import Compilation

    if isinstance(compilation, Compilation):
        return [*compilation.levels(), ("coreasm", _instructions(compilation))]
    return [*compilation.levels(), ("coreasm", compilation.staged([_instructions(one) for one in compilation.chips]))]


def _instructions(compilation: Compilation) -> ModuleOp:
    from ..lowering.executable_to_coreasm import executable_to_coreasm
    from ..lowering.linker.read_program import initial_data

    return executable_to_coreasm(compilation.executable, initial_data(compilation.module))


def _select_instructions(module: ModuleOp, model: Path, named: Chip | None) -> None:
    """Bring a module of launches over buffers to the level of instructions."""
    from ..lowering.memory_to_coreasm import select_instructions
    from .passes_first import find_chip

    select_instructions(module, find_chip(module, model, named))


def _assemble(
    module: ModuleOp,
    options: argparse.Namespace,
    chip: Chip | None,
    stages: Stages,
    encoded: Sequence[SparseNetwork[Any]],
) -> None:
    """Write the executable of a module at the level of instructions; `encoded`: earlier passes encoded weights."""
    from ..emulator.executable.chip_pipeline_file import write_any
    from .assemble_module import assemble_module, assembly_summary

    stages.begin("assemble")
    found = assemble_module(module, options, chip, bool(encoded))
    write_any(found, options.output)
    if not options.quiet:
        print(assembly_summary(options.output.name, found))
        for sparse in encoded:
            _print_dense_weights(sparse)


def _write(
    options: argparse.Namespace,
    compilation: Compilation | ChipsCompilation,
    stages: Stages,
    layers: Sequence[SparseLayer],
    encoded: bool,
) -> None:
    """Write the executable, and the report, which has one page per chip."""
    from ..emulator.executable.chip_pipeline_file import write_any
    from ..lowering.driver.compile_module import Compilation

    one_chip = isinstance(compilation, Compilation)
    pages: dict[Path, str] = {}
    if options.report is not None:
        if one_chip:
            pages[options.report] = _report(options.model, compilation, stages, layers, encoded)
        else:
            for number, each in enumerate(compilation.chips):
                pages[file_of_chip(options.report, number)] = _report(options.model, each, stages, layers, encoded)
    with all_or_none():
        write_any(compilation.executable if one_chip else compilation.pipeline, options.output)
        for path, page in pages.items():
            write_atomically(path, page)


def _summary(name: str, compilation: Compilation | ChipsCompilation) -> str:
    from ..lowering.driver.compile_module import Compilation

    return summary(name, compilation) if isinstance(compilation, Compilation) else chips_summary(name, compilation)


def _pipeline(text: str, plugins: Sequence[str]) -> PassPipeline | None:
    """The passes of `-p`; None if there are none, which avoids imports."""
    if not text.strip():
        if plugins:
            raise InputError("--load-pass-plugin only loads passes: list the ones to run with -p")
        return None
    from .pass_pipeline import read_passes
    from .universe import all_passes

    return read_passes(text, load_passes(plugins, all_passes()))


def _report(model: Path, compilation: Compilation, stages: Stages, layers: Sequence[SparseLayer], encoded: bool) -> str:
    from .report.compile_report import compile_facts, compile_report

    return compile_report(model.name, compile_facts(compilation, stages.seconds(), layers, encoded))


def summary(name: str, compilation: Compilation) -> str:
    """Size of the executable, use of the cores' memories, and the launch sequence if there are several subgraphs."""
    from ..dialects.coreasm.encoding import DESC, WORD

    exe = compilation.executable
    words = sum(len(program.words) for program in exe.programs)
    code = words * WORD.itemsize + sum(len(program.descs) for program in exe.programs) * DESC.itemsize
    peak, bound = compilation.sram_peak, compilation.sram_lower_bound
    ratio = f", {peak / bound:.2f} x its lower bound" if bound else ""
    weights = f"{exe.weight_bytes:,} bytes of weights"
    if exe.host_weight_bytes:
        weights += f" in DRAM and {exe.host_weight_bytes:,} on the host"
    text = (
        f"{name}: {compilation.tasks} tasks, {words:,} instructions in {len(exe.programs)} programs, "
        f"{code:,} bytes of code, {weights}\n"
        f"{' ' * len(name)}  SRAM allocated {peak:,} of {exe.chip.sram_bytes:,} bytes per core{ratio}; "
        f"DRAM {exe.dram_bytes_used:,} of {exe.chip.dram_bytes:,} bytes"
    )
    if compilation.saving is not None:
        return f"{text}\n{saving_table(compilation.saving)}"
    return text if len(compilation.parts) == 1 else f"{text}\n{launch_sequence_table(compilation.parts)}"


if __name__ == "__main__":
    sys.exit(main())

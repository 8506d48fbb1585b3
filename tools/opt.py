"""
`meshloom-opt`: read textual IR or an ONNX model, run passes, print the result.

It is xDSL's driver with Meshloom's dialects and passes (through the plug-in in `universe.py`), an ONNX front end,
errors of one line, output files that are written atomically, and `--check-semantics`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from io import BytesIO, StringIO
from pathlib import Path
from typing import IO, TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError, ShrinkException
from xdsl.utils.lexer import Input, Span
from xdsl.xdsl_opt_main import xDSLOptMain

from ..support.errors import InputError, MeshloomError
from ..support.files import all_or_none, write_atomically
from ..support.input_files import check_regular
from ..support.phases import Phase, measured, phase
from .cli import check_folders, complain_of_usage, epilog, parse_shapes, run_tool
from .definition_order import check_definition_order
from .diagnostics import describe, in_file, line_of, one_line, verify
from .expected_errors import ExpectedError, FoundError, has_annotations, mismatches, read_expected
from .guarded_parser import guard_string_lexer
from .help_format import HelpFormatter
from .instruments import Instrument
from .ir_dumps import IrDumps, read_dump_options
from .opt_arguments import add_arguments
from .pass_list import help_pass, list_dialects, list_passes
from .pass_pipeline import read_passes, without_picture
from .pass_plugins import load_passes
from .pass_statistics import PassStatistics
from .pass_times import time_report
from .plugin_option import load_named_plugins
from .progress import Progress
from .read_module import NOT_FOR_TEXT
from .reproducer import reproduced, split_reproducer
from .source_text import remember
from .target_options import check_target
from .text_parser import LocatingParser
from .universe import MESHLOOM, all_passes
from .values import parse_values
from .verify_input import verify_input

if TYPE_CHECKING:
    from ..analysis.execution.check_semantics import SemanticsChecker

EXAMPLES = """
  # simplify, print to the terminal
  meshloom-opt net.mlir -p canonicalize,cse
  # import an ONNX model
  meshloom-opt net.onnx --shape x=1x3x224x224 -o net.mlir
  # a pass of your own, from a file
  meshloom-opt net.mlir --load-pass-plugin my_pass.py -p my-pass
  # run before and after each pass, compare
  meshloom-opt net.mlir -p canonicalize,cse --check-semantics
  # run @main on seeded random inputs, print the results
  meshloom-opt net.mlir -t interpret
"""
UPSTREAM_PASSES = ("canonicalize", "cse", "dce", "symbol-dce", "reconcile-unrealized-casts")
"""Passes of xDSL that the help lists; all others are available, too."""


class _Held(StringIO):
    """An output buffer; its text is kept at `close`, so that the file is written only after success."""

    def close(self) -> None:
        """Keep the text."""


class MeshloomOpt(xDSLOptMain):
    """The driver. `stage` is the running pass, or "" while reading."""

    version_format = f"meshloom {version('meshloom')} (xdsl {{xdsl_version}})"
    stage: str
    held: _Held | None = None
    checker: SemanticsChecker | None = None
    instruments: list[Instrument]
    expected: list[ExpectedError]
    """The errors that annotations of the current text expect."""
    annotated: bool = False
    """Whether any part of the input expects errors; the other parts must have none."""
    lines_before: int = 0
    """Lines of the input before the current part (`--split-input-file`)."""
    names_locations: bool = False
    """Whether the input has locations of its own: a network with named nodes, or text with locations."""

    def __init__(self, args: Sequence[str] | None = None) -> None:
        self.stage, self.expected = "", []
        guard_string_lexer()
        load_named_plugins(args)
        super().__init__("Run passes over Meshloom's IR, or over any xDSL dialect.", args)
        if self.args.input_file == "-":
            self.args.input_file = None  # standard input
        if self.args.output_file == "-":
            self.args.output_file = None  # standard output
        check_target(self.args.target, self.available_targets)
        if self.args.seed < 0:
            raise InputError(f"--seed {self.args.seed}: expected 0 or more")
        if self.args.output_file is not None:
            check_folders(Path(self.args.output_file))
        if self.args.check_semantics:
            from ..analysis.execution.check_semantics import SemanticsChecker

            self.checker = SemanticsChecker(self.args.seed)
        dumps = read_dump_options(self.args, self.available_passes)
        self.instruments = [IrDumps(dumps, self.args.print_debuginfo)] if dumps else []
        if self.args.pass_statistics:
            self.instruments.append(PassStatistics())

    def register_all_passes(self) -> None:
        """All passes of xDSL's multiverse, and of this project."""
        self.available_passes = all_passes()

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        """xDSL's options with the project's own help and options."""
        arg_parser.prog = "meshloom-opt"
        setattr(arg_parser, "error", partial(complain_of_usage, arg_parser))  # the parser is made by xDSL
        arg_parser.formatter_class = HelpFormatter
        arg_parser.epilog = epilog(EXAMPLES)
        passes, targets = self.available_passes, self.available_targets
        self.available_passes = {n: passes[n] for n in (*MESHLOOM.all_passes, *UPSTREAM_PASSES) if n in passes}
        self.available_targets = {n: targets[n] for n in ("mlir", *MESHLOOM.all_targets) if n in targets}
        try:
            super().register_all_arguments(arg_parser)
        finally:
            self.available_passes, self.available_targets = passes, targets
        add_arguments(arg_parser)

    def register_all_frontends(self) -> None:
        """Parsers of textual IR, with locations in all errors, and of ONNX."""
        super().register_all_frontends()
        self.available_frontends["mlir"] = self.parse_text
        self.available_frontends["onnx"] = self.import_onnx

    def parse_chunk(self, chunk: IO[bytes], file_extension: str, start_offset: int = 0) -> ModuleOp | None:
        """Overrides xDSL's method; records the first line of each part."""
        self.lines_before, self.stage = start_offset, ""
        return super().parse_chunk(chunk, file_extension, start_offset)

    def parse_text(self, io: IO[bytes]) -> ModuleOp:
        """Parse textual IR. Any exception becomes an error at the parser's position."""
        for option in ("shape", "value", "parameters"):
            if getattr(self.args, option):
                raise InputError(NOT_FOR_TEXT.format(f"--{option}"))
        content = io.read()
        name = self.get_input_name()
        if not re.sub(rb"//[^\n]*", b"", content).strip():
            raise InputError(f"{name} contains no IR: expected a module, or a function @main")
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            span = Span(error.start, error.end, Input(content, name))
            raise ParseError(span, "not UTF-8 text") from error
        if self.args.input_file is not None and "sha256" in text:
            from ..formats.weights import STORE

            STORE.search_beside(self.args.input_file)
        text, passes = split_reproducer(text)
        if self.args.run_reproducer:
            if passes is None:
                raise InputError(f"{name}: --run-reproducer: the file does not end with the pipeline of a reproducer")
            self.pipeline = read_passes(passes, self.available_passes)
        remember(name, text, self.lines_before)
        if self.args.verify_diagnostics:
            self.expected = list(read_expected(text, self.lines_before))
        parser = LocatingParser(self.ctx, text, name, self.lines_before)
        try:
            module = parser.parse_module(not self.args.no_implicit_module)
        except (ParseError, KeyboardInterrupt, MemoryError):
            raise
        except RecursionError as error:
            raise ParseError(Span(parser.pos, parser.pos, Input(text, name)), "nested too deeply") from error
        except Exception as error:
            # An exception without a location, from an attribute's verifier or a defect: use the parser's position.
            message = one_line(str(error)) or type(error).__name__
            raise ParseError(Span(parser.pos, parser.pos, Input(text, name)), message) from error
        self.names_locations = parser.names_locations
        check_definition_order(module)
        return module

    def import_onnx(self, io: IO[bytes]) -> ModuleOp:
        """Import the ONNX model at the input's path (a model may refer to files beside it)."""
        from ..frontend.onnx_import import import_onnx
        from ..frontend.parameters import import_with_parameters

        io.close()
        self.names_locations = True
        if self.args.input_file is None:
            raise InputError("an ONNX model must be given as a file, not on standard input")
        shapes, values = parse_shapes(self.args.shape), parse_values(self.args.value)
        on_note = Progress("meshloom-opt").note
        if self.args.parameters:
            return import_with_parameters(self.args.input_file, shapes, values, on_note)[0]
        return import_onnx(self.args.input_file, shapes, values, on_note, self.args.max_steps)

    def setup_pipeline(self) -> None:
        """Build the pipeline of `-p`. Raises InputError on unknown passes and options."""
        if self.args.passes and self.args.pass_pipeline:
            raise InputError("-p and --pass-pipeline have the same meaning: give only one of them")
        given = self.args.passes or self.args.pass_pipeline
        if self.args.run_reproducer and given:
            raise InputError("--run-reproducer runs the passes that the file names: leave out -p")
        self.available_passes = load_passes(self.args.load_pass_plugin, self.available_passes)
        self.pipeline = read_passes(given, self.available_passes)

    def apply_passes(self, prog: ModuleOp) -> None:
        """Apply the passes in order, and verify after each. Raises MeshloomError with the name of the failed pass."""
        passes = self.pipeline.passes
        if not self.args.disable_verify:
            with phase("verify input"):
                verify_input(prog, self.get_input_name())
        self.between_passes(None, prog, passes[0] if passes else None)
        output = None if self.args.output_file is None else Path(self.args.output_file)
        for number, one in enumerate(passes):
            with reproduced(prog, passes[number:], output, self.args.verify_diagnostics):
                self._apply(one, prog)
            self.between_passes(one, prog, passes[number + 1] if number + 1 < len(passes) else None)

    def _apply(self, one: ModulePass, module: ModuleOp) -> None:
        """Apply a pass and verify the module, with calls of the instruments before and after."""
        for instrument in self.instruments:
            instrument.before(one, module)
        try:
            with phase(one.name):
                one.apply(self.ctx, module)
            if not self.args.disable_verify:
                with phase("verify"):
                    verify(module)
        except Exception:
            for instrument in self.instruments:
                instrument.failed(one, module)
            raise
        for instrument in self.instruments:
            instrument.after(one, module)

    def between_passes(self, previous: ModulePass | None, module: ModuleOp, following: ModulePass | None) -> None:
        """Print and compare between two passes."""
        if previous is not None and following is not None and self.args.print_between_passes:
            print(f"// IR after {previous.name}:")
            Printer(stream=sys.stdout, print_debuginfo=self.args.print_debuginfo).print_op(module)
            print("\n")
        if self.checker is not None:
            self.checker.visit(previous, module)
        self.stage = following.name if following is not None else "printing"

    def prepare_output(self) -> IO[str]:
        """Standard output, or a buffer that is written to the file of `-o` at the end."""
        if self.args.output_file is None:
            return sys.stdout
        self.held = _Held()
        return self.held

    def run(self) -> None:
        """Do the work. Raises InputError for bad input, MeshloomError where a pass failed."""
        if lines := self._asked_lists():
            print("\n".join(lines))
            return
        root = Phase("total")
        try:
            with all_or_none(), measured(root) if self.args.time_passes else nullcontext():
                self._run_chunks()
                if self.held is not None:
                    write_atomically(self.args.output_file, self.held.getvalue())
        finally:
            if self.args.time_passes:
                print(time_report(root), file=sys.stderr)
            for instrument in self.instruments:
                instrument.finish()
        if self.checker is not None:
            print(self.checker.report(), file=sys.stderr)

    def _asked_lists(self) -> list[str]:
        """The output of `--list-passes`, `--help-pass`, `--list-dialects` and `--export-irdl`."""
        lines: list[str] = []
        if self.args.list_passes:
            lines += list_passes(MESHLOOM.all_passes, self.available_passes)
        if self.args.help_pass is not None:
            lines.append(help_pass(self.args.help_pass, self.available_passes))
        if self.args.list_dialects:
            own = {name: make() for name, make in MESHLOOM.all_dialects.items()}
            lines += list_dialects(own, self.ctx.registered_dialect_names)
        if self.args.export_irdl:
            from .irdl.export import export_irdl

            lines += export_irdl({name: make() for name, make in MESHLOOM.all_dialects.items()}).splitlines()
        return lines

    def _run_chunks(self) -> None:
        """Process each part of the input, from its text to the output."""
        chunks, extension = self.prepare_input()
        output = self.prepare_output()
        if self.args.verify_diagnostics:
            texts = [chunk.read() for chunk, _ in chunks]
            self.annotated = any(map(has_annotations, texts))
            chunks = [(BytesIO(text), offset) for text, (_, offset) in zip(texts, chunks, strict=True)]
        try:
            for number, (chunk, offset) in enumerate(chunks):
                if number > 0:
                    output.write("// -----\n")
                with closing(chunk):
                    self._run_chunk(chunk, extension, offset, output)
                output.flush()
        except ShrinkException:
            assert self.args.shrink
            print("Success, can shrink")
            raise SystemExit(0) from None
        if self.args.shrink:
            print("Failure, can't shrink")
            raise SystemExit(1)

    def _run_chunk(self, chunk: IO[bytes], extension: str, offset: int, output: IO[str]) -> None:
        """Raises InputError for bad input, MeshloomError if a pass failed or an expected error did not occur."""
        self.expected = []
        try:
            with phase("parse"):
                module = self.parse_chunk(chunk, extension, offset)
            if module is not None:
                self.apply_passes(module)
                with phase("print"):
                    text = self.output_resulting_program(module)
                self._check_expected([])
                output.write(text)
        except (ParseError, DiagnosticException) as error:
            if isinstance(error, ParseError):
                error.span = replace(error.span, line_offset=offset)
            if self._is_awaited(error):
                return
            message = in_file(self.get_input_name(), error)
            if self.stage:
                raise MeshloomError(f"{self.stage}: {message}") from error
            raise InputError(message) from error
        except MeshloomError as error:
            if not self.annotated:
                raise
            self._check_expected([FoundError(line_of(error), str(error))])

    def _is_awaited(self, error: ParseError | DiagnosticException) -> bool:
        """
        Whether `--verify-diagnostics` or `--parsing-diagnostics` handle an error of the input: it is compared with the
        annotations of the text, or printed if the input has none.
        """
        if self.annotated:
            self._check_expected([FoundError(line_of(error), describe(error) or one_line(str(error)))])
            return True
        asked = self.args.parsing_diagnostics if isinstance(error, ParseError) else self.args.verify_diagnostics
        if asked:
            print(error)
            for note in getattr(error, "__notes__", ()):
                print(note)
        return asked

    def _check_expected(self, found: Sequence[FoundError]) -> None:
        """Raises MeshloomError if the errors differ from the annotations."""
        if wrong := list(mismatches(self.get_input_name(), self.expected, found)):
            raise MeshloomError("; ".join(wrong))

    def output_resulting_program(self, prog: ModuleOp) -> str:
        """
        The output's text. With `-o`, weights that exist only in this process are written to a file beside it first, and
        the text has the locations if the input has any.
        """
        printed = self.args.output_file is not None and self.args.target == "mlir"
        if printed and any(op.name in ("dataflow.weight", "coreasm.data") for op in prog.walk()):
            from ..dialects.weight_references import externalise, keep_sources

            side_file = Path(f"{self.args.output_file}.weights")
            keep_sources(prog, side_file.resolve().parent)
            externalise(prog, side_file, side_file.name)
        self.args.print_debuginfo |= printed and self.names_locations
        return super().output_resulting_program(prog)

    def prepare_input(self) -> tuple[list[tuple[IO[bytes], int]], str]:
        """Overrides xDSL's method; for an unknown extension, the error lists the known ones."""
        try:
            if self.args.input_file is not None:
                check_regular(self.args.input_file)
            return super().prepare_input()
        except ValueError as error:
            known = ", ".join(f".{name}" for name in self.available_frontends)
            raise InputError(f"{self.get_input_name()}: unknown kind of file, expected one of {known}") from error


def main(args: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""

    def body() -> None:
        try:
            MeshloomOpt(args).run()
        except ArgSpecParseError as error:
            raise InputError(f"bad -p or -t: {without_picture(str(error))}") from error

    return run_tool(body)


if __name__ == "__main__":
    sys.exit(main())

"""Print the IR before and after passes, as `mlir-opt` does with its options `--mlir-print-ir-*`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from io import StringIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from ..support.errors import InputError
from .instruments import Instrument


def add_dump_options(parser: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the options `--print-ir-*`, and their spelling in `mlir-opt`, `--mlir-print-ir-*`."""
    for when in ("before", "after"):
        parser.add_argument(
            *_spellings(f"print-ir-{when}"),
            action="append",
            default=[],
            metavar="PASS",
            help=f"print the IR {when} this pass, or passes a,b, to standard error (may be repeated)",
        )
    for when in ("before", "after"):
        parser.add_argument(
            *_spellings(f"print-ir-{when}-all"), action="store_true", help=f"print the IR {when} every pass"
        )
    parser.add_argument(
        *_spellings("print-ir-after-change"),
        action="store_true",
        help="print the IR after each pass that changed it; with --print-ir-after, only after the passes named there",
    )
    parser.add_argument(
        *_spellings("print-ir-after-failure"), action="store_true", help="print the IR after a pass that failed"
    )


def _spellings(name: str) -> tuple[str, str]:
    return f"--{name}", f"--mlir-{name}"


@dataclass(frozen=True)
class DumpOptions:
    """The requested dumps. Collections of pass names; None: all passes."""

    before: Collection[str] | None = ()
    after: Collection[str] | None = ()
    only_changed: bool = False
    on_failure: bool = False

    def __bool__(self) -> bool:
        return self.before is None or self.after is None or bool(self.before or self.after or self.on_failure)


def read_dump_options(options: argparse.Namespace, known: Mapping[str, object]) -> DumpOptions:
    """The dumps that the options of `add_dump_options` request. Raises InputError for a pass that is not `known`."""
    before, after = (
        _names(f"--print-ir-{when}", given, known)
        for when, given in (("before", options.print_ir_before), ("after", options.print_ir_after))
    )
    return DumpOptions(
        None if options.print_ir_before_all else before,
        None if options.print_ir_after_all or (options.print_ir_after_change and not after) else after,
        options.print_ir_after_change,
        options.print_ir_after_failure,
    )


def _names(option: str, given: Iterable[str], known: Mapping[str, object]) -> frozenset[str]:
    names = frozenset(name for text in given for name in text.split(","))
    for name in sorted(names):
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean '{close[0]}'?" if close else "`meshloom-opt --list-passes` names all"
            raise InputError(f"{option}: unknown pass '{name}'; {hint}")
    return names


class IrDumps(Instrument):
    """Prints to standard error."""

    def __init__(self, options: DumpOptions, debug_info: bool) -> None:
        """`debug_info`: print locations as well."""
        self.options = options
        self.debug_info = debug_info
        self.text_before = ""

    def before(self, one: ModulePass, module: ModuleOp) -> None:
        """Print the module, or keep the text with which the module after the pass is compared."""
        if self.options.before is None or one.name in self.options.before:
            _dump(f"Before {one.name}", self._text(module))
        if self.options.only_changed and self._wants_after(one):
            self.text_before = self._text(module)

    def after(self, one: ModulePass, module: ModuleOp) -> None:
        """Print the module after the pass."""
        if not self._wants_after(one):
            return
        text = self._text(module)
        if not self.options.only_changed or text != self.text_before:
            _dump(f"After {one.name}", text)

    def failed(self, one: ModulePass, module: ModuleOp) -> None:
        """Print the module after a failed pass."""
        if self.options.on_failure:
            _dump(f"After {one.name} Failed", self._text(module, generic=True))

    def _wants_after(self, one: ModulePass) -> bool:
        return self.options.after is None or one.name in self.options.after

    def _text(self, module: ModuleOp, generic: bool = False) -> str:
        """Textual IR. An invalid operation may be printed in generic form only."""
        out = StringIO()
        Printer(out, print_debuginfo=self.debug_info, print_generic_format=generic).print_op(module)
        return out.getvalue()


def _dump(title: str, text: str) -> None:
    print(f"// -----// IR Dump {title} //----- //\n{text}\n", file=sys.stderr, flush=True)

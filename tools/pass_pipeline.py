"""Pass pipelines: parsing of `canonicalize,manycore-tile{chip=edge}`, and application to a module."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.universe import Universe
from xdsl.utils.arg_spec import PipelineLexer, SpecTokenKind, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError

from ..lowering.ir.below_operators import below_operators
from ..lowering.ir.replace_module import replace_module
from ..lowering.launch.program_notes import noted_ideal
from ..support.errors import BudgetError, InputError, ResourceError
from ..support.settings import check_given_once
from ..support.warn import warn
from .diagnostics import verify
from .reproducer import reproduced

Passes = Mapping[str, Callable[[], type[ModulePass]]]
"""Pass name -> function that imports its class."""

RENAMED = {"dataflow-split-frames": "dataflow-split-batch"}
"""Old names of passes, accepted until the next release."""


def read_passes(text: str, available: Passes) -> PassPipeline:
    """
    The passes of a pipeline, with or without `builtin.module(...)` around them as in MLIR.

    Raises InputError for text that is not a pipeline, unknown passes and bad options.
    """
    for old, new in RENAMED.items():
        text, count = re.subn(rf"(?<![\w-]){old}(?![\w-])", new, text)
        if count:
            warn(f"pass '{old}' was renamed to '{new}': the old name is removed in the next release")
    if found := re.fullmatch(r"\s*builtin\.module\s*\((.*)\)\s*", text, re.DOTALL):
        text = found[1].strip()
    if found := re.search(r"(?:^|,)\s*([\w.]+)\s*\(", re.sub(r"\{[^{}]*\}", "", text)):
        raise InputError(f"-p {text!r}: passes apply to whole modules: leave out '{found[1]}(...)'")
    try:
        _check_options_once(text)
        unknown = [spec.name for spec in parse_pipeline(text) if spec.name not in available]
        if not unknown:
            return PassPipeline.parse_spec(dict(available), text)
    except (ArgSpecParseError, ValueError, TypeError) as error:
        raise InputError(f"-p {text!r}: {without_types(without_picture(str(error)))}") from error
    close = get_close_matches(unknown[0], available, n=1)
    hint = f"did you mean '{close[0]}'?" if close else "`meshloom-opt --list-passes` names all"
    raise InputError(f"-p {text!r}: unknown pass '{unknown[0]}'; {hint}")


def _check_options_once(text: str) -> None:
    """Raises InputError for an option of a pass that is given twice, of which xDSL would use the last value."""
    lexer = PipelineLexer(text)
    name, inside, before = "", False, SpecTokenKind.COMMA
    options: list[str] = []
    while (token := lexer.lex()).kind is not SpecTokenKind.EOF:
        if token.kind is SpecTokenKind.L_BRACE:
            inside, options = True, []
        elif token.kind is SpecTokenKind.R_BRACE:
            check_given_once(f"-p {text!r}: pass '{name}'", options)
            inside = False
        elif token.kind is SpecTokenKind.IDENT and not inside:
            name = token.span.text
        elif token.kind is SpecTokenKind.IDENT and before in (SpecTokenKind.L_BRACE, SpecTokenKind.SPACE):
            options.append(token.span.text.replace("_", "-"))
        before = token.kind


def without_picture(message: str) -> str:
    """The last line of a message that shows the position by carets."""
    lines = [line.strip() for line in message.splitlines() if line.strip(" ^")]
    return lines[-1] if lines else message


def without_types(message: str) -> str:
    """A message about an unknown option or a wrong value, in the spelling of the command line."""
    if found := re.fullmatch(r"Incompatible types: given \('(.*)',\), expected typing.Literal\[(.*)\]", message):
        return f"'{found[1]}' is not one of {found[2]}"
    if found := re.fullmatch(r"Incompatible types: given \('?(.*?)'?,\), expected <class '(bool|int|float)'>", message):
        kind = {"bool": "true or false", "int": "a whole number", "float": "a number"}[found[2]]
        return f"'{found[1]}' is not {kind}"
    if found := re.fullmatch(r"Provided arguments \[(.*)\] not found in expected arguments \[(.*)\]", message):
        known = f"the options are {found[2]}" if found[2] else "there are none"
        return f"there is no option {found[1]}; {known}".replace('"', "'")
    return message


def apply_passes(
    pipeline: PassPipeline,
    module: ModuleOp,
    begin: Callable[[str], None],
    output: Path | None = None,
    before_tasks: Sequence[ModulePass] = (),
) -> None:
    """
    Apply a pipeline to a module, and verify after each pass; `begin` is called with each name. `before_tasks` are
    inserted before the first pass that makes tasks or subgraphs of whole operators, and not used if there is none. Such
    a pass is detected by applying it, so that `begin` is called twice for it: before and after `before_tasks`.

    Raises MeshloomError naming the pass that failed or left an invalid module, see `reproduced`; a reproducer goes
    beside `output`.
    """
    context = _context()
    waiting = list(pipeline.passes)
    while waiting:
        begin(waiting[0].name)
        with reproduced(module, waiting, output):
            if not before_tasks:
                waiting[0].apply(context, module)
            elif not _applied_above_tasks(waiting[0], context, module):
                waiting, before_tasks = [*before_tasks, *waiting], ()
                continue
            verify(module)
        waiting = waiting[1:]


def passes_above_tasks(pipeline: PassPipeline, module: ModuleOp) -> int:
    """
    Apply the passes of a pipeline before the first one that makes tasks or subgraphs of whole operators. Returns their
    number.

    Raises MeshloomError as `apply_passes` does.
    """
    context = _context()
    for number in range(len(pipeline.passes)):
        with reproduced(module, pipeline.passes[number:], None):
            if not _applied_above_tasks(pipeline.passes[number], context, module):
                return number
            verify(module)
    return len(pipeline.passes)


def _context() -> Context:
    """A context with all dialects."""
    context = Context()
    for name, dialect in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, dialect)
    return context


def _applied_above_tasks(one: ModulePass, context: Context, module: ModuleOp) -> bool:
    """
    Apply a pass, unless it is the first that makes tasks or subgraphs: then the module is not changed.

    This includes passes that make them only if needed, such as `manycore-outline-to-fit`, because they record the work
    of the network in its present form. A pass that fails because something does not fit counts as well: only passes
    that make tasks check this.
    """
    if below_operators(module) is not None:
        one.apply(context, module)
        return True
    before = module.clone()
    try:
        one.apply(context, module)
        if below_operators(module) is None and (noted_ideal(module) is None) == (noted_ideal(before) is None):
            return True
    except (ResourceError, BudgetError):
        pass
    replace_module(module, before)
    return False

"""
The number of wrong rewrites that `--check-semantics` detects: one JSON line, and one for each undetected rewrite.

    python bench/mutate_semantics.py [--modules 20] [--each 10] [--seed 0]

A wrong rewrite changes one operation of a module of `test/filecheck` or of a random network: the operation is removed,
its operands are swapped, or a number in a constant or an attribute is changed. Rewrites that a verifier rejects are not
counted, nor those with equal results on 60 further inputs of many magnitudes (`same`): dead operations, masked
elements.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, ClassVar, cast

import numpy as np
from meshloom.analysis.execution.check_semantics import SemanticsChecker, difference
from meshloom.analysis.execution.interpret import InputDraw, draw_inputs, numbers, result_types, run_main
from meshloom.analysis.semantic_effect import EXACT, SemanticEffect
from meshloom.dialects.dataflow import AddOp, ConstantOp, MaximumOp, MinimumOp, MulOp
from meshloom.dialects.dataflow.constants import array_of, attribute_of
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.support.errors import MeshloomError
from meshloom.tools.universe import MESHLOOM
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException

from meshloom.testing import RandomNetwork

FILECHECK = Path(__file__).resolve().parents[1] / "test" / "filecheck"
OTHERS = 60
COMMUTATIVE = (AddOp, MulOp, MaximumOp, MinimumOp)


class WrongPass(ModulePass):
    """Placeholder for the rewrite; the checker reads only its semantic effect."""

    name = "wrong"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Does nothing: the module is rewritten already."""


@dataclass
class Mutant:
    """A module with one wrong operation."""

    what: str
    module: ModuleOp


def context() -> Context:
    """A context with all dialects."""
    found = Context()
    for name, dialect in {**get_all_dialects(), **MESHLOOM.all_dialects}.items():
        found.register_dialect(name, dialect)
    return found


def modules(random: Random) -> Iterator[tuple[str, ModuleOp]]:
    """Modules on which the checker runs, half of them random networks."""
    texts = sorted([*(FILECHECK / "dataflow").glob("*.mlir"), *(FILECHECK / "transforms").glob("*.mlir")])
    random.shuffle(texts)
    for number, path in enumerate(texts):
        yield f"random {number}", RandomNetwork(number, operations=8).module
        try:
            module = Parser(context(), path.read_text().split("// -----")[0]).parse_module()
            module.verify()
            find_main(module)
        except (DiagnosticException, MeshloomError, ParseError, VerifyException):
            continue
        yield path.name, module


def mutants(module: ModuleOp, random: Random) -> Iterator[Mutant]:
    """An endless sequence of wrong modules, in random order."""
    count = len(list(module.walk()))
    edits: Sequence[Callable[[Operation, Random], str | None]] = (dropped, swapped, other_constant, other_attribute)
    for _ in range(1000):
        copy = module.clone()
        op = list(copy.walk())[random.randrange(count)]
        what = random.choice(edits)(op, random)
        if what is None:
            continue
        try:
            copy.verify()
        except (DiagnosticException, VerifyException):
            continue
        yield Mutant(what, copy)


def dropped(op: Operation, random: Random) -> str | None:
    """Replace the result by an operand."""
    same = [one for one in op.operands if len(op.results) == 1 and one.type == op.results[0].type]
    if not same:
        return None
    op.results[0].replace_all_uses_with(random.choice(same))
    op.detach()
    op.erase()
    return f"drop {op.name}"


def swapped(op: Operation, random: Random) -> str | None:
    """Swap the first two operands of equal types."""
    del random
    first, *rest = op.operands or (None,)
    if first is None or not rest or rest[0].type != first.type or rest[0] is first or isinstance(op, COMMUTATIVE):
        return None
    op.operands[0], op.operands[1] = rest[0], first
    return f"swap operands of {op.name}"


def other_constant(op: Operation, random: Random) -> str | None:
    """Add 1 to one element of a constant."""
    if not isinstance(op, ConstantOp):
        return None
    values = np.array(array_of(op.value))
    if values.dtype.kind not in "fi" or not values.size:
        return None
    place = random.randrange(values.size)
    values.reshape(-1)[place] += 1
    op.properties["value"] = attribute_of(values, op.value.get_element_type())
    return f"element {place} of a constant of {values.size} plus 1"


def other_attribute(op: Operation, random: Random) -> str | None:
    """Add or subtract 1 from one number of a property."""
    names = [
        name for name, value in op.properties.items() if isinstance(value, IntegerAttr | FloatAttr | DenseArrayBase)
    ]
    if not names or not op.name.startswith("dataflow."):
        return None
    name, step = random.choice(names), random.choice((-1, 1))
    changed = _changed(op.properties[name], step, random)
    if changed is None:
        return None
    op.properties[name] = changed
    return f"{name} of {op.name} {step:+}"


def _changed(value: Any, step: int, random: Random) -> Attribute | None:
    """An attribute of numbers with one of them changed. The parameters of xDSL's classes are not known to checkers."""
    if isinstance(value, FloatAttr):
        return FloatAttr(value.value.data + step, cast(Any, value).type)
    if isinstance(value, IntegerAttr):
        return cast(Attribute, IntegerAttr(value.value.data + step, cast(Any, value).type))
    numbers = list(value.get_values())
    if not numbers:
        return None
    numbers[random.randrange(len(numbers))] += step
    return cast(Attribute, DenseArrayBase.from_list(value.elt_type, numbers))


def is_found(module: ModuleOp, mutant: Mutant) -> bool | None:
    """Whether the checker detects the difference; None if the module cannot be run."""
    checker = SemanticsChecker()
    checker.visit(None, module)
    if checker.skipped:
        return None
    try:
        checker.visit(WrongPass(), mutant.module)
    except MeshloomError:
        return True
    return None if checker.skipped else False


def is_different(module: ModuleOp, mutant: Mutant) -> bool:
    """Whether the result differs for any of many inputs: numbers from 0.001 to 1,000, also whole and repeated ones."""

    def floats(shape: tuple[int, ...], generator: np.random.Generator) -> NDArray[np.float64]:
        values = generator.standard_normal(shape) * 10.0 ** generator.uniform(-3, 3)
        kind = generator.integers(3)
        return np.rint(values) if kind == 1 else np.full(shape, generator.standard_normal()) if kind == 2 else values

    types = result_types(module)
    for seed in range(OTHERS):
        inputs = draw_inputs(module, 1000 + seed, InputDraw(floats, (0, 1 + seed % 8)))
        try:
            before, after = run_main(module, inputs), run_main(mutant.module, inputs)
        except MeshloomError:
            continue
        pairs = [(numbers(before[name], types[name]), numbers(after[name], types[name])) for name in before]
        if any(difference(one, other, EXACT) is not None for one, other in pairs):
            return True
    return False


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else None)
    parser.add_argument("--modules", type=int, default=20)
    parser.add_argument("--each", type=int, default=10, help="wrong rewrites of each module")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    random = Random(args.seed)
    found = tried = used = same = 0
    for name, module in modules(random):
        results: list[tuple[Mutant, bool]] = []
        for mutant in mutants(module, random):
            seen = is_found(module, mutant)
            if seen is False and not is_different(module, mutant):
                same += 1
                continue
            if seen is not None:
                results.append((mutant, seen))
            if (seen is None and not results) or len(results) == args.each:
                break
        if not results:
            continue
        used += 1
        tried += len(results)
        found += sum(seen for _, seen in results)
        for mutant, seen in results:
            if not seen:
                print(json.dumps({"missed": mutant.what, "module": name}), flush=True)
        if used == args.modules:
            break
    print(
        json.dumps(
            {"modules": used, "tried": tried, "found": found, "same": same, "share": round(found / max(tried, 1), 4)}
        )
    )
    sys.exit(0 if tried else 1)


if __name__ == "__main__":
    main()

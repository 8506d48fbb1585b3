"""Whether the emulated chip computes what the interpreter does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ModuleOp

if TYPE_CHECKING:
    from meshloom.tools.api import RunResult


def check_on_chip(module: ModuleOp | str | Path, chip: str = "tiny", seed: int = 0, **options: Any) -> RunResult:
    """
    Compile a module (or the file of one) for a chip, run it on random inputs from a seed, compare the outputs with
    those of the interpreter, and return what the run gave. `options` are those of `meshloom.compile`.

    Floats may differ by 1e-4 of the largest expected value and 1e-6, other values not at all. Raises AssertionError
    that names the outputs that differ more, and MeshloomError if the module cannot be compiled or run.
    """
    from meshloom.analysis.execution.interpret import make_inputs
    from meshloom.tools import api
    from meshloom.tools.interpreted import run_module
    from meshloom.tools.oracle import compare
    from meshloom.tools.read_module import read_module

    original = module.clone() if isinstance(module, ModuleOp) else read_module(Path(module), {})
    inputs = make_inputs(original, seed)
    expected = run_module(original, inputs)
    network = cast("api.CompiledNetwork", api.compile(original, chip=chip, **options))
    result = network.run(inputs)
    wrong = [one for name, value in expected.items() if not (one := compare(name, result.outputs[name], value)).equal]
    if wrong:
        lines = (f"by up to {one.difference:g}, allowed: {one.allowed:g}" for one in wrong)
        named = (f"output '{one.name}' differs from the interpreter's" for one in wrong)
        raise AssertionError("\n".join(map(" ".join, zip(named, lines, strict=True))))
    return result

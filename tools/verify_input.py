"""Verification of a module from the user."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from ..support.errors import InputError, MeshloomError
from .diagnostics import one_line, verify
from .guarded_parser import MAX_ELEMENTS


def verify_input(module: ModuleOp, location: str) -> None:
    """
    Verify a module. Raises xDSL's exceptions if a verifier rejects it, and InputError if a verifier itself fails.

    Verifiers of xDSL's own operations assume properties that the text may not have. Values of more than MAX_ELEMENTS
    elements are rejected: a short text must not allocate all memory.
    """
    _check_sizes(module, location)
    try:
        verify(module)
    except (DiagnosticException, MeshloomError, MemoryError):
        raise
    except KeyError as error:
        raise InputError(f"{location}: an operation has no {error}, which is required") from error
    except RecursionError as error:
        raise InputError(f"{location}: nested too deeply") from error
    except Exception as error:
        message = one_line(str(error)) or type(error).__name__
        raise InputError(f"{location}: the module is not valid: {message}") from error


def _check_sizes(module: ModuleOp, location: str) -> None:
    for op in module.walk():
        arguments = [argument for region in op.regions for block in region.blocks for argument in block.args]
        for value in (*op.results, *arguments):
            get_shape = getattr(value.type, "get_shape", None)
            if get_shape is not None and (count := math.prod(get_shape())) > MAX_ELEMENTS:
                raise InputError(
                    f"{location}: {op.name} has a value of type {value.type}, of {count:,} elements: "
                    f"at most {MAX_ELEMENTS:,} are supported"
                )

"""Verification of a whole executable, which the controller's program starts: what no op can be checked for alone."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from ...support.errors import InputError
from .block_text import in_its_file


def verify_executable(controller: Operation) -> None:
    """
    Check the executable whose controller this is: that launches, programs, core sets, semaphores and parameters exist
    and tensors and data fit. Nothing is checked where no chip is named, as in a module that holds programs only.

    Raises VerifyException that names the line, where the module was read from text.
    """
    from ...lowering.coreasm_to_executable import coreasm_to_executable
    from ..manycore import chip_of

    module = controller.parent_op()
    if not isinstance(module, ModuleOp) or chip_of(module) is None:
        return
    following = controller.next_op
    while following is not None:  # those before the controller are verified by now
        following.verify(verify_nested_ops=False)
        following = following.next_op
    try:
        coreasm_to_executable(module, "the executable", load=False)
    except InputError as error:
        raise VerifyException(in_its_file(controller, str(error))) from error

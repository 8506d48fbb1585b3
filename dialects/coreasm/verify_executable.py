"""Verification of a whole executable: the rules that involve several of its operations."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from ...support.errors import InputError
from .block_text import in_its_file


def verify_executable(controller: Operation) -> None:
    """
    Check the executable that contains this controller: that the launches, programs, core sets, semaphores and
    parameters that it refers to exist, and that tensors and data fit. A module that names no chip, such as one that
    contains programs only, is not checked.

    Raises VerifyException, which names the line if the module was read from text.
    """
    from ...lowering.coreasm_to_executable import coreasm_to_executable
    from ..manycore import chip_of

    module = controller.parent_op()
    if not isinstance(module, ModuleOp) or chip_of(module) is None:
        return
    following = controller.next_op
    while following is not None:  # those before the controller have been verified already
        following.verify(verify_nested_ops=False)
        following = following.next_op
    try:
        coreasm_to_executable(module, "the executable", load=False)
    except InputError as error:
        raise VerifyException(in_its_file(controller, str(error))) from error

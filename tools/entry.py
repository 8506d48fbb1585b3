"""
Entry points of the installed commands. The handler of interrupts is installed before anything else is imported, which
takes a while, and Python looks for garbage rarely from then on.
"""

from __future__ import annotations

import sys

from ..support.interrupts import end_on_interrupt, ignore_interrupts


def _start(tool: str) -> int:
    ours = end_on_interrupt()
    try:
        from ..support.garbage import collect_rarely

        collect_rarely()
        module = f"{__package__}.{tool}"
        __import__(module)
        return sys.modules[module].main()
    finally:
        if ours:
            ignore_interrupts()


def opt() -> int:
    """`meshloom-opt`"""
    return _start("opt")


def compile() -> int:
    """`meshloom-compile`"""
    return _start("compile")


def run() -> int:
    """`meshloom-run`"""
    return _start("run")


def objdump() -> int:
    """`meshloom-objdump`"""
    return _start("objdump")


def assemble() -> int:
    """`meshloom-as`"""
    return _start("assemble")


def topology() -> int:
    """`meshloom-topology`"""
    return _start("topology")


def plan() -> int:
    """`meshloom-plan`"""
    return _start("plan")


def map() -> int:
    """`meshloom-map`"""
    return _start("map")


def sparsity() -> int:
    """`meshloom-sparsity`"""
    return _start("sparsity")

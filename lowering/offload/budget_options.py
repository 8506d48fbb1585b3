"""A budget of device memory from the texts by which options give it."""

from __future__ import annotations

from ...dialects.memory.formats import Format
from ...support.errors import InputError
from ...transforms.options import Number
from .compile_launches import Budget
from .save_memory import Saving

KINDS = ("swap", "compress", "recompute")


def parse_budget(amount: Number, save: str | None, compress_to: str | None, launch_bytes: Number | None) -> Budget:
    """
    `amount`: bytes, up to 1 a share of what the network needs, or `chip`; `save`: of swap, compress, recompute, with
    commas; `compress_to`: a format; `launch_bytes`: DRAM that a launch may need. Raises InputError for what makes no
    sense.
    """
    kinds = ("swap", "recompute") if save is None else tuple(save.split(","))
    if unknown := sorted(set(kinds) - set(KINDS)):
        raise InputError(f"--save: '{unknown[0]}' is none of {', '.join(KINDS)}")
    formats = [format.value for format in Format]
    name = compress_to or Format.F16.value
    if name not in formats:
        raise InputError(f"--compress-to {name}: expected one of {', '.join(formats)}")
    number = None if amount == "chip" else _number("--budget", amount)
    launch = None if launch_bytes is None else int(_number("--launch-bytes", launch_bytes))
    return Budget(number, Saving(frozenset(kinds), Format(name)), launch)


def _number(option: str, text: Number) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1 << 62:
        raise InputError(f"{option} {text}: expected a positive number")
    return value

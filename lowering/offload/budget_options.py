"""Parse a budget of device memory from the texts of options."""

from __future__ import annotations

from ...dialects.memory.formats import F16, FORMATS
from ...support.errors import InputError
from ...support.settings import check_given_once
from ...transforms.offload.thresholds import Thresholds
from ...transforms.shared.options import Number, number
from .compile_launches import Budget
from .save_memory import Saving

THRESHOLDS = ("th-tts", "th-size", "n")
KINDS = ("swap", "compress", "recompute")


def check_saves_memory(save: object | None, compress_to: object | None, launch_bytes: object | None) -> None:
    """Raises InputError if one of these options is given (not None): for calls without a budget and thresholds."""
    if launch_bytes is not None:
        raise InputError("--launch-bytes applies to --budget only: give both, or leave it out")
    for option, given in (("--save", save), ("--compress-to", compress_to)):
        if given is not None:
            raise InputError(f"{option} applies to memory saving only: give --budget or --offload, or leave it out")


def parse_budget(
    amount: Number | None,
    save: str | None = None,
    compress_to: str | None = None,
    launch_bytes: Number | None = None,
    offload: str | None = None,
) -> Budget:
    """
    `amount`: bytes, up to 1 a share of the bytes that the network needs, or `chip` (None: the same); `save`: of swap,
    compress, recompute, with commas; `compress_to`: a format; `launch_bytes`: DRAM that a launch may need; `offload`:
    thresholds, as `th-tts=1000,th-size=4096,n=4`. Raises InputError for values that are not valid.
    """
    thresholds = None if offload is None else parse_thresholds(offload)
    if thresholds is not None and launch_bytes is not None:
        raise InputError("--launch-bytes cannot be combined with thresholds (--offload): leave out one of them")
    default = ("swap", "recompute") if thresholds is None else ("swap",)
    kinds = default if save is None else tuple(save.split(","))
    if unknown := sorted(set(kinds) - set(KINDS)):
        raise InputError(f"--save: '{unknown[0]}' is not one of {', '.join(KINDS)}")
    check_given_once("--save", kinds)
    if compress_to is not None and "compress" not in kinds:
        raise InputError(
            f"--compress-to applies to kind compress only: add it to --save, as in "
            f"--save {','.join((*kinds, 'compress'))}, or leave out --compress-to"
        )
    name = compress_to or F16.name
    if name not in FORMATS:
        raise InputError(f"--compress-to {name}: expected one of {', '.join(FORMATS)}")
    number = None if amount is None or amount == "chip" else _number("--budget", amount)
    launch = None if launch_bytes is None else int(_number("--launch-bytes", launch_bytes))
    return Budget(number, Saving(frozenset(kinds), FORMATS[name]), launch, thresholds)


def parse_thresholds(text: str) -> Thresholds:
    """
    `th-tts=NS,th-size=BYTES,n=COUNT`, each of which is optional, in whole numbers. Raises InputError for others, and
    for one that is given twice.
    """
    settings = [part.strip().partition("=") for part in text.split(",")]
    values: dict[str, int] = {}
    for name, equals, value in settings:
        if name not in THRESHOLDS:
            raise InputError(f"--offload: '{name}{equals}{value}' is not one of th-tts=NS, th-size=BYTES, n=COUNT")
        given = number(f"--offload: {name}", value, 0)
        if not given.is_integer():
            raise InputError(f"--offload: {name}={value}: expected a whole number")
        values[name] = int(given)
    check_given_once("--offload", (name for name, _, _ in settings))
    return Thresholds(values.get("th-tts", 0), values.get("th-size", 0), values.get("n"))


def _number(option: str, text: Number) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1 << 62:
        raise InputError(f"{option} {text}: expected a positive number")
    return value

"""`--value NAME=NUMBER`: an input of an ONNX model that is a constant of the compiled network."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..support.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORDS = {"true": True, "false": False}


def add_value_option(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add `--value`, for tools that import models."""
    parser.add_argument(
        "--value",
        action="append",
        default=[],
        metavar="NAME=16000",
        help="replace an ONNX input by a constant: a number, a list (1,2,3) or FILE.npy (may be repeated)",
    )


def add_steps_option(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add `--max-steps`, for tools that import models."""
    parser.add_argument(
        "--max-steps",
        type=int,
        metavar="N",
        help="largest number of steps of ONNX loops whose number of steps is known at run time only",
    )


def parse_values(options: Sequence[str]) -> dict[str, NDArray[Any]]:
    """
    The values of `NAME=16000`, `NAME=1,2,3`, `NAME=true` and `NAME=FILE.npy` options; one number is a scalar.

    Raises InputError on anything else.
    """
    if not options:
        return {}
    import numpy as np

    from ..support.npy import read_arrays

    values: dict[str, NDArray[Any]] = {}
    for option in options:
        name, separator, text = option.partition("=")
        if not separator or not name or not text:
            raise InputError(f"--value {option!r}: expected NAME=NUMBER such as sr=16000, or NAME=FILE.npy")
        if name in values:
            raise InputError(f"--value {name} is given twice")
        if text.endswith(".npy"):
            values |= read_arrays([option], "--value")
            continue
        numbers = [_number(part, option) for part in text.split(",")]
        try:
            values[name] = np.asarray(numbers if len(numbers) > 1 else numbers[0])
        except OverflowError as error:
            raise InputError(f"--value {option!r}: {error}") from error
    return values


def _number(text: str, option: str) -> int | float | bool:
    text = text.strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise InputError(f"--value {option!r}: {text!r} is not a number; expected NAME=16000, NAME=1,2,3 or NAME=FILE.npy")

"""Check of `-t`, a target with options such as `emulate{chip=tiny inputs=iota}`, before anything is read or run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, cast

from xdsl.utils.arg_spec import parse_spec
from xdsl.utils.target import Target

from ..support.errors import InputError
from .pass_pipeline import without_types


def check_target(text: str, available: Mapping[str, Callable[..., Any]]) -> None:
    """Raises InputError if `text`, one of the `available` targets, has options that this target does not have."""
    spec = parse_spec(text)
    factory = available[spec.name]
    if signature(factory).parameters:
        return  # a function of a module and a stream, which takes no options
    try:
        cast("type[Target]", factory()).from_spec(spec)
    except (ValueError, TypeError) as error:
        raise InputError(f"-t {text!r}: {without_types(str(error))}") from error

"""The base class of operations that refer to bytes outside the text, by file, offset, length and hash."""

from __future__ import annotations

import abc
import re
from collections.abc import Mapping

from xdsl.dialects.builtin import I64, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, prop_def
from xdsl.parser import Parser

KEYS = ("source", "offset", "bytes", "sha256")
"""Names of the properties of a reference."""


class ReferenceOp(IRDLOperation, abc.ABC):
    """
    An operation whose bytes are at an offset in a file, or, with source "mem", in the store of the process, by their
    hash (`formats/weights.py`). The hash also detects a changed file.
    """

    source = prop_def(StringAttr)
    offset = prop_def(IntegerAttr[I64])
    bytes = prop_def(IntegerAttr[I64])
    sha256 = prop_def(StringAttr)

    def reference_problem(self) -> str | None:
        """What is wrong with the reference, or None."""
        offset = self.offset.value.data
        if offset < 0 or self.bytes.value.data < 0:
            return f"offset = {offset} and bytes = {self.bytes.value.data} should not be negative"
        if not self.source.data:
            return 'source = "" should name a file, or be "mem"'
        if not re.fullmatch("[0-9a-f]{64}", self.sha256.data):
            return f'sha256 = "{self.sha256.data}" should be 64 lower-case hexadecimal digits'
        return None

    @property
    def shown(self) -> Mapping[str, Attribute]:
        """The reference and the attributes that are printed."""
        return {**{key: self.properties[key] for key in KEYS}, **self.attributes}


def reference_properties(source: str, offset: int, nbytes: int, sha256: str) -> dict[str, Attribute]:
    """The properties of a reference."""
    return {
        "source": StringAttr(source),
        "offset": IntegerAttr(offset, i64),
        "bytes": IntegerAttr(nbytes, i64),
        "sha256": StringAttr(sha256),
    }


def parse_reference(parser: Parser, name: str) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Parse a dictionary, which must have all `KEYS`, into (properties, attributes) of operation `name`."""
    position = parser.pos
    entries = parser.parse_optional_attr_dict()
    for key in KEYS:
        if key not in entries:
            parser.raise_error(f"{name} needs an entry '{key}'", position, parser.pos)
    return {key: entries.pop(key) for key in KEYS}, entries

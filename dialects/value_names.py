"""
Value names that stay the same when a text is printed and read.

xDSL removes one number from the end of a name that is given to a value (`x_1_2` becomes `x_1`), and appends a number
when it prints several values of the same name. So a name that still ends in a number would change when a text is read,
and with it the names derived from it, such as that of a tensor between two chips; and with other values named `x`, a
text would define `x_1` twice. Therefore all numbers are removed from the end, so that the name stays the same however
often it is printed and read.
"""

from __future__ import annotations

import re

from xdsl.ir import core as xdsl_core

# The first character stays: a name of numbers only (`_1_2`) would become empty. xDSL has no hook for this.
xdsl_core._VALUE_NAME_SUFFIX_PATTERN = re.compile(r"(?<=.)(?:_\d+)+$")  # pyright: ignore[reportPrivateUsage]

"""
Names of values that a text gives back as they were.

xDSL takes one number from the end of a name that a value is given (`x_1_2` becomes `x_1`), and puts one behind it where
it prints several values of one name. So a name that still ends in a number would be another after a text was read, and
what is named after it, as a tensor between two chips, too; and with values called `x` beside it, a text would define
`x_1` twice. All numbers are taken, so that what is left is the same however often it is printed and read.
"""

from __future__ import annotations

import re

from xdsl.ir import core as xdsl_core

# The first character stays: a name of numbers alone (`_1_2`) would be none. xDSL has no hook for this.
xdsl_core._VALUE_NAME_SUFFIX_PATTERN = re.compile(r"(?<=.)(?:_\d+)+$")  # pyright: ignore[reportPrivateUsage]

"""What NumPy raises where a `.npy` file is damaged: its header is a Python literal, read by Python's own parsers."""

from __future__ import annotations

from tokenize import TokenError

NPY_DAMAGE = (ValueError, EOFError, SyntaxError, TokenError, TypeError, OverflowError, MemoryError)

"""
The dialects as IRDL, and modules as text that MLIR's own tools read with it (`mlir-opt --irdl-file`).

IRDL has limits: names of operations have no dots; operations have no traits, so none is a terminator; all values of a
variadic operand have one type; no attribute is optional. `names.py` defines how the text respects them.
"""

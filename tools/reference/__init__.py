"""
The reference pages that are made from the definitions: `python -m meshloom.tools.reference FOLDER` writes them all.

A test compares `docs/reference/` with what this writes.
"""

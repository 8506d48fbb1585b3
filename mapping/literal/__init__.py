"""Reference implementation of the mapping of spec 4: one module for each step."""

"""Reference implementation of the mapping of spec 4, with one module for each step."""

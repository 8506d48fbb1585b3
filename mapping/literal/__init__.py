"""The mapping of spec 4 word for word: one module a step."""

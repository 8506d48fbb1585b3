"""Orders of operations on units that work in parallel (spec 3, steps 2 to 4)."""

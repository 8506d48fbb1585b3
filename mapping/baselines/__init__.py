"""Simple ways of mapping, to compare with."""

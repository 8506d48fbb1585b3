"""Putting the vertices of a network on the cores of a chip."""

"""Placement of the tiles of tasks on the cores of a chip, for little traffic on links and DRAM ports."""

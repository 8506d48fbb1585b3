"""Placement of the tiles of tasks on the cores of a chip, by the resulting traffic on links and DRAM ports."""

"""Placement of the tiles of tasks on the cores of a chip, by what then travels over links and DRAM ports."""

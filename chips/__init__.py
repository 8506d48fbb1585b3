"""Chip descriptions: TOML files, their schema and loader."""

from .chip import RATES, Chip, Energy
from .load import chip_names, load_chip

__all__ = ["RATES", "Chip", "Energy", "chip_names", "load_chip"]

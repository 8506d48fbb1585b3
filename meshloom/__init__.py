"""Meshloom: compile neural networks for many-core chips and run them in an emulator."""

from importlib.metadata import version

__version__ = version("meshloom")

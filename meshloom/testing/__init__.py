"""
Helpers for tests of passes, operators, instructions and dialects of one's own.

    from meshloom.testing import RandomNetwork, check_on_chip, run_filecheck

They need no more than the package (`run_filecheck`: its extra `testing`), and no test framework: what is wrong raises
AssertionError.
"""

from meshloom.testing.filecheck import run_filecheck
from meshloom.testing.on_chip import check_on_chip
from meshloom.testing.random_networks import Maker, RandomNetwork

__all__ = ["Maker", "RandomNetwork", "check_on_chip", "run_filecheck"]

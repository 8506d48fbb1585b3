"""Baseline methods of mapping, with which the default method is compared."""

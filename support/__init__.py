"""Utilities that all other folders use: errors, files, progress, compiled kernels."""

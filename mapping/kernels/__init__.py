"""Compiled kernels over graphs in compressed sparse rows, shared by the methods of mapping."""

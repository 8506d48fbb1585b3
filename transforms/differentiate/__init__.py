"""Reverse-mode differentiation of `dataflow` functions: rules by operation, losses, optimisers."""

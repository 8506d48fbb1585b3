"""Graphs of operations with durations and of tensors with sizes: what planning of orders and of memory works on."""

"""Graphs of operations with durations and of tensors with sizes: the input of the planning of orders and of memory."""

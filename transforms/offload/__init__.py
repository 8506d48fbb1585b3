"""Parts of `memory-insert-offload`: the script (which tensors are moved when), and emission of the operations."""

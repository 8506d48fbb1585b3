"""Parts of `memory-insert-offload`: what is moved when, and the operations for it."""

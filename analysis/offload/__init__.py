"""Planning of memory saving: which tensors are offloaded between two uses, in which way, and when they are restored."""

"""Memory saving: which tensors leave the device's memory between two uses, how, and when they return."""

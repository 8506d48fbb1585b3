"""Memory saving: which tensors leave the device's memory while nobody uses them, how, and when they come back."""

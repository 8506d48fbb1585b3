"""Planning on the chip: how tasks are tiled, what stays in the cores' memory, and where buffers lie."""

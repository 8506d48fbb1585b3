"""Planning on the chip: tilings of tasks, values that stay in the cores' memory, and addresses of buffers."""

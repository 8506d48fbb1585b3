"""Programs with memory saving as steps in queues: execution, memory over time, and control edges."""

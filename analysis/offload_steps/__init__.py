"""Programs with memory saving as steps in queues: their execution, their memory over time, their control edges."""

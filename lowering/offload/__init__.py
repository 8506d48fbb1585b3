"""Memory saving down to the binary: launches with copies, compression and recomputation between them (spec 1)."""

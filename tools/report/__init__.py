"""HTML reports of compilations and runs: one self-contained file each, without scripts."""

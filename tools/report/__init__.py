"""HTML reports of compilations and runs: one file each, without scripts and without anything from elsewhere."""

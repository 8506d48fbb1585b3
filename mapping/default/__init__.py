"""The default method: graph and mesh are bisected together, and the mapping is then refined for the objective."""

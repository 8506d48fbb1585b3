"""Topologies of networks: in memory, on disk, and converted from other formats."""

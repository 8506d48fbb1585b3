"""Costs of a mapping: cut, hops, delivered traffic, loads of links and cores."""

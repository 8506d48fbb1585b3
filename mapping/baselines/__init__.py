"""Baseline methods of mapping."""

"""Faults between a host and its memory: found and reported, never repaired."""

"""Checking, repairing, packing and pruning of a repository."""

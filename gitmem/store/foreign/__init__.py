"""Repositories that are not ours, read for adoption."""

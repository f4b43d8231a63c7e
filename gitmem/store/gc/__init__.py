"""Packs the objects of a repository and prunes those that were dropped."""

"""Derived files in the git directory, deletable at any time and rebuilt when damaged."""

"""Checks and repairs a repository: each module does both for one subject, such as refs or packs."""

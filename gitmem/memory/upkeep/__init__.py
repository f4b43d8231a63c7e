"""Scheduled upkeep: maintain, rotate logs, take snapshots, roll up journals, compact sessions."""

"""The rules of lint and consolidation, and plans that decide about entries."""

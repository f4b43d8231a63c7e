"""Commands that keep memory in order: archive, consolidate, lint, summaries, days."""

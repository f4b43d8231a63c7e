"""Keep memory small and true: archive, lint, report, consolidate, migrate."""

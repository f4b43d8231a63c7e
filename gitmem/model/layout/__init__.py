"""The layout in `gitmem.yaml`: its parser, and the rules of journals, logs and archives."""

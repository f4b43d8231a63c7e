"""What `gitmem.yaml` says: layers, and the rules of journals, logs and archives."""

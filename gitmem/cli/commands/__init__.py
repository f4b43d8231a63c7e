"""One module per command, each imported only when its command is called."""

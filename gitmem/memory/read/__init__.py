"""Read files, history and the state of a group."""

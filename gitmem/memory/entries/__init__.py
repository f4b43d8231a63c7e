"""List, move, confirm and date entries."""

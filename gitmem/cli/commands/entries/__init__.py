"""Commands that list, age, confirm and move entries."""

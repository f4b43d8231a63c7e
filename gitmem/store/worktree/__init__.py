"""The folder that people and agents edit, and what is kept out of it."""

"""Credentials in text: the rules that find them, and the readings of a text they are asked of."""

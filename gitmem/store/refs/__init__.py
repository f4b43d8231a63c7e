"""Refs on disk: read, moved by compare and swap, and the tags and side branches made of them."""

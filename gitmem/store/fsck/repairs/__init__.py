"""Mending: what is damaged goes to quarantine, what is lost is looked for."""

"""Commands that create, adopt, link, check and remove groups."""

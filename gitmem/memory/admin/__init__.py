"""Make, rename, link, check and remove groups."""

"""The skills that come with gitmem, installed and kept up to date."""

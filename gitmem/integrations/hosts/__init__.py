"""What gitmem knows about each agent host."""

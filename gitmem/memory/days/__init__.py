"""What a day brings: rotation, snapshots, rollups, compactions, maintenance."""

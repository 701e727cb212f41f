"""Programs that keep the repository in order."""

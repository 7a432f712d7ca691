"""Two futures of a simulated run, side by side: the present one, and one that was left."""

"""The commands of the simulator: run, explore, shrink and replay scenarios."""

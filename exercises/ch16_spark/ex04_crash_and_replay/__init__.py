"""Exercise 16-4: crash and replay."""

"""Exercise 14-2: where a consumer begins to read if it has no valid position."""

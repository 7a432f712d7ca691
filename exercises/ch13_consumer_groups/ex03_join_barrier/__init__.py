"""Exercise 13-3: write the barrier at which the members of a group wait for each other."""

"""Exercise 04-1: write the tables of allowed state changes, and refuse all other changes."""

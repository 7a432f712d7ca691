"""Exercise 04-1: write the tables of states, with their refusal."""

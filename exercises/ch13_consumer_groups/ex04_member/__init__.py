"""Exercise 13-4: write the state machine of a member of a group."""

"""Exercise 07-5: find and fix a leader that lets followers join the ISR too early."""

"""Exercise 07-5: find and mend a leader that lets followers join the ISR too early."""

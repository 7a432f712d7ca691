"""Exercise 03-3: write the condition of DelayedFetch."""

"""Exercise 18-5: a bug whose only trace is a short transcript of a simulated run."""

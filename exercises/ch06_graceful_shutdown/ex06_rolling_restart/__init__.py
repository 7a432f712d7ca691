"""Exercise 06-6: a rolling restart of a real cluster, while an application works on it."""

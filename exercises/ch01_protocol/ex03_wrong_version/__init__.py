"""Exercise 01-3: find the mistake in a decoder that fails in some versions."""

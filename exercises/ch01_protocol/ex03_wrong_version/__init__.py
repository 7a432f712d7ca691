"""Exercise 01-3: a decoder that is wrong from one version on."""

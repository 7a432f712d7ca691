"""Exercise 08-2: which cluster does a client belong to?"""

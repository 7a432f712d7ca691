"""Exercise 04-5: find and mend why a controller that is none any more was obeyed."""

"""Exercise 04-5: find and mend why a broker obeys a broker that is not the controller any more."""

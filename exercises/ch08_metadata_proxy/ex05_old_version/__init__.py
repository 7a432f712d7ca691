"""Exercise 08-5: find and mend a proxy that forgets an older version's field."""

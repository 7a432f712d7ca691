"""Exercise 07-4: find and mend a follower that cuts at its high watermark."""

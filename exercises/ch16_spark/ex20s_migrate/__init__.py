"""Exercise 16-20s: a checkpoint that does not fit any more, and its migration."""

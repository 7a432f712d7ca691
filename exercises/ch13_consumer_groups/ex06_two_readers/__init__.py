"""Exercise 13-6: find the partition that two members read, and fix the handover."""

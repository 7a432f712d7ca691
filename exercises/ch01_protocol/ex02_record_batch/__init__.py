"""Exercise 01-2: a RecordBatch of format v2."""

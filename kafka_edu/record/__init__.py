"""Record batches and their records (book §6.1).

Producers send batches, segments store them and consumers receive them. The bytes are the same in
all three places.
"""

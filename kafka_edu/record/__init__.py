"""Record batches (book §6.1).

Producers send them, segments store them and consumers receive them. The bytes are the same in all
three places.
"""

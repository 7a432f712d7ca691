"""Record batches: what producers send, what lies in a segment, what consumers get; the same bytes
in all three places (book §6.1).
"""

"""Everything for tracing: typed events, the tracer that takes them where state changes, the sinks
that get them, and the reader that joins the events of several processes.
"""

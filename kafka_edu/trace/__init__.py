"""Everything for tracing: typed events, the tracer that collects them, the sinks that store or send
them, and the reader that joins the events of several processes.
"""

"""The dashboard: a cluster's events, shown in a terminal.

The dashboard knows a cluster by its events alone. It imports only kafka_edu.trace, .common and
.protocol.
"""

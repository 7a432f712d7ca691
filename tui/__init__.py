"""The dashboard: a cluster's events, shown in a terminal.

The dashboard knows a cluster only through its events. It imports only kafka_edu.trace, .common and
.protocol.
"""

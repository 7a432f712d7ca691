"""The dashboard: what a cluster tells of itself, in a terminal. It knows events alone, and imports
only kafka_edu.trace, .common and .protocol.
"""

"""The broker's configuration: reading server.properties, the type and default of each key, and
changes while the broker runs.
"""

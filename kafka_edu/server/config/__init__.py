"""The broker's configuration: server.properties, each key with its type and default, and changes
while the broker runs.
"""

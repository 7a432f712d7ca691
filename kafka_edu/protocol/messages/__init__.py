"""Request and response classes, in one module for each API key.

Fields have the names of Kafka's message definitions, in snake_case, so readers can look them up in
Kafka's documentation. `registry` lists all classes. This module imports none of them. So a program
that needs few messages starts fast, for example a Spark worker.
"""

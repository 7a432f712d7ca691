"""Kafka's command-line tools under Kafka's names, one module a tool: `kafka-edu topics` is
kafka-topics.sh, and so on.
"""

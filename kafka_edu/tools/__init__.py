"""Kafka's command-line tools under Kafka's names: `kafka-edu topics` is kafka-topics.sh, and so on.
One module a tool.
"""

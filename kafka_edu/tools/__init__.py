"""Kafka's command-line tools, with one module for each tool.

Commands have Kafka's names: `kafka-edu topics` is kafka-topics.sh, and so on.
"""

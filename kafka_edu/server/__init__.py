"""The broker: its configuration, its request handlers, and the KafkaServer that starts and stops
all its parts.
"""

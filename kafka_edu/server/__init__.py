"""The broker: its configuration, its request handlers, and KafkaServer, which starts and stops all
parts.
"""

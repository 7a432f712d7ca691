"""The broker: its configuration, its request handlers, and the class KafkaServer, which starts and
stops the parts of a broker.
"""

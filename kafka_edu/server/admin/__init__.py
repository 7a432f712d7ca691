"""Change topics, configs, quotas and credentials when an operator's tool requests it (Kafka:
AdminManager, ConfigAdminManager).
"""

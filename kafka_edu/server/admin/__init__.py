"""The changes that operators order from a broker: topics, configs, quotas, credentials (Kafka:
AdminManager, ConfigAdminManager).
"""

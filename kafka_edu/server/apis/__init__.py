"""The handlers of requests. Each module has the handlers of one family of APIs. The module
`server/kafka_apis.py` has the table of all handlers.
"""

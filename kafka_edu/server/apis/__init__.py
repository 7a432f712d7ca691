"""Handlers of the requests, one module for each family. `kafka_apis` holds the table of them."""

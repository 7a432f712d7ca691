"""What each request does, one module a family; `kafka_apis` is the table that leads here."""

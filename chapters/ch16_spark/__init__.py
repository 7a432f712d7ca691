"""Chapter 16: Spark on Kafka. Micro-batches, watermarks, and what exactly-once needs."""

"""Log compaction: for each key only the last record is kept (Kafka: LogCleaner.scala)."""

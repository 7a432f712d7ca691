"""Our clients for programs without asyncio: scripts and notebooks.

    from kafka_edu.clients import blocking

    with blocking.Producer({"bootstrap.servers": "127.0.0.1:9092"}) as producer:
        metadata = producer.send("web", b"hello").result()

Each call waits until it is done. The clients are those of `clients/producer`, `clients/consumer`
and `clients/admin`. Each one has an event loop in a thread of its own. So they work in a notebook
too, where another loop runs already. docs/clients.md has their page.
"""

from kafka_edu.clients.blocking.admin import Admin
from kafka_edu.clients.blocking.consumer import Consumer
from kafka_edu.clients.blocking.producer import Producer, RecordFuture

__all__ = ["Admin", "Consumer", "Producer", "RecordFuture"]

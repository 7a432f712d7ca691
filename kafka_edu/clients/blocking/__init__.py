"""Our clients for programs without asyncio: scripts and notebooks.

    from kafka_edu.clients import blocking

    with blocking.Producer({"bootstrap.servers": "127.0.0.1:9092"}) as producer:
        metadata = producer.send("web", b"hello").result()

Each call returns when it is done. The clients wrap the asyncio clients of `clients/producer`,
`clients/consumer` and `clients/admin`. Each client has an event loop in its own thread. So the
clients also work in a notebook, where an event loop runs already. docs/clients.md describes them.
"""

from kafka_edu.clients.blocking.admin import Admin
from kafka_edu.clients.blocking.consumer import Consumer
from kafka_edu.clients.blocking.producer import Producer, RecordFuture

__all__ = ["Admin", "Consumer", "Producer", "RecordFuture"]

"""The admin client: ask the brokers of a cluster about members, groups and topics, or change them.

Kafka: AdminClient.java; AdminClient.scala of 2.0.

`brokers` has the connections, and finds the controller and the coordinators. `group_service` asks
about consumer groups. `topic_service` describes, creates, extends and deletes topics. `new_topic`
creates a topic even if there is no controller at the moment. All modules use Kafka's own messages
and print nothing. If a broker refuses a request, they raise KafkaException. If a connection breaks,
they raise OSError.
"""


class AdminTimeoutError(Exception):
    """No broker of the bootstrap servers can be reached, or a group was not ready in time."""


class BootstrapAddressError(ValueError):
    """A part of `bootstrap.servers` is not host:port. The message is the same as in Kafka."""

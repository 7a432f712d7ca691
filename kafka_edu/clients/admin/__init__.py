"""The admin client: ask the brokers of a cluster about its members, groups and offsets, and have
them act (Kafka: AdminClient.java; AdminClient.scala of 2.0).

`brokers` holds the connections and finds the controller and coordinators. `group_service` asks
about consumer groups. `topic_service` describes, creates, extends and deletes topics. `new_topic`
creates one also while there is no controller. All of them speak Kafka's own messages and know
nothing of command lines. A broker's refusal is a KafkaException, and a broken connection is an
OSError.
"""


class AdminTimeoutError(Exception):
    """No broker of the bootstrap servers can be reached, or a group was not ready in time."""


class BootstrapAddressError(ValueError):
    """A part of `bootstrap.servers` is not host:port. The message names it in Kafka's words."""

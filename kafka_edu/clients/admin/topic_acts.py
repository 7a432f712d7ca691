"""Acts on topics and partitions, which an admin client carries out on a real or a simulated
cluster.

The words of an act are those of the supervisor's table of acts: `topic`, `partition`, `partitions`
and `replicas`. An act returns what was done, in one line.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final

from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.partition_calls import ElectionType
from kafka_edu.clients.admin.topic_calls import NewPartitions, NewTopic, usual_replicas
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition, TopicPartitionError
from kafka_edu.common.words import plural

ALL: Final = "all"
Words = Mapping[str, object]


class ActWordsError(Exception):
    """An act cannot be carried out as it was requested. The text says why, and what to write."""


class TopicActs:
    """Carries out acts: elect, create, grow, delete, move."""

    def __init__(
        self,
        connect: Callable[[], AbstractAsyncContextManager[Admin]],
        order: Callable[[NewTopic], Awaitable[None]],
    ) -> None:
        """`connect` returns an admin client. `order` lets the controller create a topic."""
        self._connect = connect
        self._order = order

    async def act(self, name: str, words: Words) -> str:
        """Carry out one act. Raises ActWordsError, and the errors of the admin client."""
        match name:
            case "elect-preferred" | "elect-unclean":
                return await self._elect(_text(words, "partition"), name == "elect-unclean")
            case "create-topic" | "add-partitions" | "delete-topic":
                return await self._change_topic(name, _text(words, "topic"), words)
            case "reassign":
                tp = partition_of(_text(words, "partition"))
                replicas = ids_of(_text(words, "replicas"))
                async with self._connect() as admin:
                    (await admin.alter_partition_reassignments({tp: replicas})).all()
                return f"{tp} moves to brokers {', '.join(map(str, replicas))}"
        raise ActWordsError(f"there is no action '{name}'")

    async def _elect(self, partition: str, unclean: bool) -> str:
        chosen = None if partition == ALL else [partition_of(partition)]
        kind = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
        async with self._connect() as admin:
            results = await admin.elect_leaders(kind, chosen)
        refused = [
            f"{tp}: {error.message} ({error.name})"
            for tp, error in results.errors.items()
            if error.error is not Errors.ELECTION_NOT_NEEDED
        ]
        if refused:
            raise ActWordsError("; ".join(refused[:3]))
        elected = list(map(str, results.values))
        if not elected:
            return "no election was needed"
        return f"elected a leader for {', '.join(elected[:6])}" + ("…" if elected[6:] else "")

    async def _change_topic(self, name: str, topic: str, words: Words) -> str:
        assigned = None if name == "delete-topic" else assigned_of(words.get("partitions"))
        if name == "add-partitions" and not isinstance(assigned, int):
            raise ActWordsError("a topic grows to a number of partitions, such as 6")
        async with self._connect() as admin:
            if assigned is None:
                (await admin.delete_topics([topic])).all()
                return f"topic {topic} is to be deleted"
            if name == "add-partitions" and isinstance(assigned, int):
                (await admin.create_partitions({topic: NewPartitions(assigned)})).all()
                return f"topic {topic} has {plural(assigned, 'partition')} now"
            if isinstance(assigned, int):
                brokers = len((await admin.describe_cluster()).nodes)
                new, count = NewTopic(topic, assigned, usual_replicas(brokers)), assigned
            else:
                new, count = NewTopic(topic, assignments=dict(enumerate(assigned))), len(assigned)
        await self._order(new)
        return f"topic {topic} is created, with {plural(count, 'partition')}"


def _text(words: Words, key: str) -> str:
    value = words.get(key)
    if not isinstance(value, str) or not value:
        raise ActWordsError(f"{key} is missing")
    return value


def partition_of(text: str) -> TopicPartition:
    """Return the partition that a text names. Raises ActWordsError."""
    try:
        return TopicPartition.parse(text)
    except TopicPartitionError as error:
        raise ActWordsError(str(error)) from None


def assigned_of(value: object) -> int | list[list[int]]:
    """Return the number of partitions, or the broker ids of each partition. `value` is the text of
    the parameter, or a number if a script has sent it. Raises ActWordsError.
    """
    text = str(value)
    if text.isdecimal() and int(text):
        return int(text)
    brokers = [each.strip().split(":") for each in text.split(",")]
    if ":" not in text or not all(word.isdecimal() for words in brokers for word in words):
        raise ActWordsError(
            f"'{text}' is neither a number of partitions nor the brokers of each, such as 1:2,2:0"
        )
    return [[int(word) for word in words] for words in brokers]


def ids_of(text: str) -> list[int]:
    """Return the broker ids that a text lists. Raises ActWordsError."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words):
        raise ActWordsError(f"'{text}' is not a list of broker ids, such as 1,2,0")
    return [int(word) for word in words]

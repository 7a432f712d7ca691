"""Fetch sessions (KIP-227): created, used, changed, misused and closed."""

from typing import Final

from kafka_edu.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from tests.conformance.cases.basics import batch, create, produce
from tests.conformance.replay import Asker

SETTINGS: Final[dict[str, str]] = {}
DIFFERENT: Final[dict[str, str]] = {}
VERSIONS: Final = (7, 11, 12)


def fetch(
    session_id: int,
    epoch: int,
    *wanted: tuple[str, int, int],
    forgotten: tuple[tuple[str, int], ...] = (),
    size: int = 1 << 20,
) -> FetchRequest:
    """Build a Fetch request. Each entry of `wanted` is a topic, a partition and an offset."""
    topics = [
        FetchTopic(
            topic=topic,
            partitions=[
                FetchPartition(
                    partition=partition,
                    fetch_offset=offset,
                    partition_max_bytes=size,
                    log_start_offset=-1,
                )
            ],
        )
        for topic, partition, offset in wanted
    ]
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=20,
        min_bytes=1,
        session_id=session_id,
        session_epoch=epoch,
        topics=topics,
        forgotten_topics_data=[
            ForgottenTopic(topic=topic, partitions=[partition]) for topic, partition in forgotten
        ],
    )


def ask_all(asker: Asker) -> None:
    for version in VERSIONS:
        topic = f"s{version}"
        asker.ask(f"create {topic}", create(topic, partitions=3), 4)
        for partition in (0, 1):
            asker.ask("produce", produce(batch(2), topic=topic, partition=partition), 7)
        _one_session(asker, version, topic)
        _errors(asker, version, topic)
        _others(asker, version, topic)


def _one_session(asker: Asker, version: int, topic: str) -> None:
    def ask(name: str, request: FetchRequest) -> int:
        answer = asker.ask(name, request, version)
        assert answer is not None
        session_id: int = answer.session_id
        return session_id

    session = ask("open", fetch(0, 0, (topic, 0, 0), (topic, 1, 0), (topic, 2, 0)))
    ask("nothing has changed", fetch(session, 1))
    ask("further on, to the ends", fetch(session, 2, (topic, 0, 2), (topic, 1, 2)))
    ask("nothing is new", fetch(session, 3))
    asker.ask("produce more", produce(batch(1), topic=topic, partition=1), 7)
    ask("what is new", fetch(session, 4))
    ask("and again, for nobody went further", fetch(session, 5))
    ask("one is forgotten", fetch(session, 6, forgotten=((topic, 1),)))
    ask("it stays so", fetch(session, 7))
    ask("and is wanted again", fetch(session, 8, (topic, 1, 0)))
    ask("with a limit of one byte", fetch(session, 9, (topic, 1, 0), size=1))
    ask("forgotten and wanted at once", fetch(session, 10, (topic, 1, 0), forgotten=((topic, 1),)))
    ask(
        "one is forgotten that was never there",
        fetch(session, 11, forgotten=((topic, 7), ("nope", 0))),
    )
    ask("closed", fetch(session, -1))
    ask("after the end", fetch(session, 12))


def _errors(asker: Asker, version: int, topic: str) -> None:
    session = asker.ask(
        "open for errors", fetch(0, 0, (topic, 0, 0), ("nope", 0, 0), (topic, 9, 0)), version
    ).session_id
    for epoch in (1, 2):
        asker.ask("an error comes every time", fetch(session, epoch), version)
    asker.ask("a wrong epoch", fetch(session, 7), version)
    asker.ask("which does not use the right one up", fetch(session, 3), version)
    asker.ask("an old epoch", fetch(session, 2), version)
    asker.ask("past the end", fetch(session, 4, (topic, 0, 1000)), version)
    asker.ask("past the end, again", fetch(session, 5), version)
    asker.ask(
        "all are forgotten",
        fetch(session, 6, forgotten=((topic, 0), (topic, 9), ("nope", 0))),
        version,
    )
    asker.ask("then the session is gone", fetch(session, 7), version)


def _others(asker: Asker, version: int, topic: str) -> None:
    asker.ask("no session but an epoch", fetch(0, 5, (topic, 0, 0)), version)
    asker.ask("without a session", fetch(0, -1, (topic, 0, 0)), version)
    asker.ask("no partitions and no session", fetch(0, -1), version)
    asker.ask("a session of nothing", fetch(0, 0), version)
    asker.ask("an unknown session", fetch(1 << 30, 1), version)
    asker.ask("an unknown session, to be closed", fetch(1 << 30, -1, (topic, 0, 0)), version)
    session = asker.ask("open one more", fetch(0, 0, (topic, 0, 0)), version).session_id
    asker.ask("in its place another", fetch(session, 0, (topic, 1, 0)), version)
    asker.ask("the first is gone", fetch(session, 1), version)
    session = asker.ask(
        "a session may go on", fetch(0, 0, (topic, 0, 0)), version, on="a"
    ).session_id
    asker.ask("on another connection", fetch(session, 1), version, on="b")
    asker.close(on="a")
    asker.ask("when the first one is closed", fetch(session, 2), version, on="b")

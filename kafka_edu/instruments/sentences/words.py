"""Words and formats that the sentences of several areas use."""

from collections.abc import Collection, Sequence
from typing import Final

from kafka_edu.common.words import duration, joined
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.trace.event import Source, SourceKind

SHORT_NAMES: Final = {
    SourceKind.BROKER: "b",
    SourceKind.ZOOKEEPER: "zk",
    SourceKind.SUPERVISOR: "sup",
    SourceKind.CLIENT: "cli",
    SourceKind.PROXY: "pxy",
}


def teller(source: Source) -> str:
    """Return a short name for a process, different for each: `b1`, `sup`, `zk`, `zk2`, `cli`,
    `cli1`.
    """
    first = 1 if source.kind is SourceKind.ZOOKEEPER else 0
    plain = source.kind is not SourceKind.BROKER and source.id <= first
    return SHORT_NAMES[source.kind] + ("" if plain else str(source.id))


def quiet(
    before: str,
    subject: str = "",
    after: str = "",
    *,
    reason: str = "",
    because: str = "",
    exact: str = "",
) -> Sentence:
    """Return a sentence that is not shown in the ticker, because its event is too frequent.

    The sentence appears only in chains of causes and in the complete time line.
    """
    return Sentence(before, subject, after, reason, because, exact, loud=False)


def ids(brokers: Collection[int]) -> str:
    """Format broker ids in sorted order, so that equal sets have equal texts: `{0,1,2}`."""
    return "{" + ",".join(map(str, sorted(brokers))) + "}"


def brokers(numbers: Sequence[int]) -> str:
    """Return broker ids in words, in the given order: `broker 1`, `brokers 2, 0`, `no broker`."""
    if not numbers:
        return "no broker"
    return f"{'broker' if len(numbers) == 1 else 'brokers'} {', '.join(map(str, numbers))}"


def process_name(text: str) -> str:
    """Return the text with `broker-1` written as `broker 1`, wherever it occurs."""
    return text.replace("broker-", "broker ")


def api_name(api_key: int) -> str:
    """Return a request's name as in Kafka's documentation: 4 → `LeaderAndIsr`."""
    try:
        return ApiKey(api_key).title
    except ValueError:
        return f"request of kind {api_key}"


def micros(us: int) -> str:
    """Format a time given in µs: `0.3 ms`, `42 ms`, `1.2 s`."""
    return f"{us / 1000:.1f} ms" if us < 10_000 else duration(us / 1000)


def offsets(first: int, end: int) -> str:
    """Return in words the offsets from `first` up to but not including `end`."""
    return f"offset {first:,}" if end - first == 1 else f"offsets {first:,} to {end - 1:,}"


def why(reason: str) -> str:
    """Return a reason as the end of a sentence: `, because the client closed it`; "" if there is no
    reason.
    """
    return f", because {reason}" if reason else ""


def ports(numbers: Sequence[int]) -> str:
    """Return port numbers in words: `port 9092`, `ports 9092, 9093`, `no port`."""
    if not numbers:
        return "no port"
    return f"{'port' if len(numbers) == 1 else 'ports'} {joined(numbers)}"


def short_state(state: str) -> str:
    """Return the short name of a partition's or replica's state: `OnlinePartition` → `Online`."""
    return state.removesuffix("Partition").removesuffix("Replica")


def isr_reason(reason: str) -> str:
    """Return the reason without its offsets, which differ between partitions.

    `1 has caught up: LEO 534, HW 534` becomes `1 has caught up`.
    """
    brief = reason.partition(":")[0]
    return f"broker {brief}" if brief[:1].isdigit() else brief


def brief_error(error: str) -> str:
    """Shorten an operating system error to a few words."""
    if "Refused" in error:
        return "connection refused: nobody listens there"
    return error.partition(": ")[2] or error


def member_name(member: str) -> str:
    """Return a member id shortened for a line: `reader-1-3f2a`, without the rest of its UUID."""
    client = member[:-37]
    return f"{client}-{member[-36:-32]}" if client and member[-37] == "-" else member


def settings(configs: Sequence[tuple[str, str]]) -> str:
    """Return settings in words: `retention.ms is 1000`."""
    return joined([f"{key} is {value}" for key, value in configs]) or "none of its own"


def changes(configs: Sequence[tuple[str, str, str]]) -> str:
    """Return changed settings with their old and new values: `retention.ms 1000 → 2000`."""
    return joined([f"{key} {before or '(none)'} → {after}" for key, before, after in configs])


def session(session_id: int) -> str:
    """Return the name of a ZooKeeper session: `session 0x3`."""
    return f"session {session_id:#x}"

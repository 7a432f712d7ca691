"""The gist of a frame in a few words: its topics, offsets, acks, records and errors."""

from typing import Final

from kafka_edu.instruments.wire.tree import Decoded, Node

_SAID: Final = frozenset(
    {
        "acks", "client_software_name", "error_code", "fetch_offset", "generation_id", "group_id",
        "group_instance_id", "high_watermark", "key", "base_offset", "committed_offset",
        "leader_epoch", "name", "records", "record_set", "resource_name", "topic", "topic_name",
        "transactional_id",
    }
)  # fmt: skip
_NOTHING: Final = frozenset({"", "null", "empty", "-1 = none", "0 = NONE"})
#: No record is opened for a gist.
_SHUT: Final = frozenset({"records", "record_set", "compressed records"})
MOST: Final = 6


def gist(decoded: Decoded) -> str:
    """Return what the frame is about. O(fields up to the sixth that says something)."""
    body = next((node for node in decoded.root.children if node.name == "body"), None)
    if body is None:
        return ""
    words: list[str] = []
    for word in _words(body):
        if word not in words:
            words.append(word)
        if len(words) == MOST:
            words.append("…")
            break
    return " · ".join(words)


def _words(node: Node) -> list[str]:
    """Return the words of a node and of what is below it."""
    found: list[str] = []
    todo = [node]
    while todo and len(found) < 50:
        here = todo.pop()
        if here.name in _SAID and here.value not in _NOTHING:
            found.append(_word(here))
        if here.name not in _SHUT:
            todo += reversed(here.children)
    return found


def _word(node: Node) -> str:
    value = node.value.split(" = ", 1)
    if node.name in ("name", "topic", "topic_name", "resource_name", "key", "client_software_name"):
        return node.value
    if node.name in ("records", "record_set"):
        return node.value.removesuffix(", checksums right")
    if node.name == "error_code":
        return value[-1]
    return f"{node.name} {value[0]}"

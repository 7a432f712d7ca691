"""Sum up a frame in a few words: its topics, offsets, acks, records and errors."""

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
#: The fields that a summary does not look into.
_SHUT: Final = frozenset({"records", "record_set", "compressed records"})
MOST: Final = 6


def gist(decoded: Decoded) -> str:
    """Return what the frame is about.

    Each kind of field is named only once, but every error is named. O(fields).
    """
    body = next((node for node in decoded.root.children if node.name == "body"), None)
    if body is None:
        return ""
    words: list[str] = []
    names: set[str] = set()
    is_all = True
    todo = [body]
    while todo:
        here = todo.pop()
        if here.name in _SAID and here.value not in _NOTHING:
            word = _word(here)
            if len(words) < MOST and (here.name not in names or here.name == "error_code"):
                words += [word] if word not in words else []
                names.add(here.name)
            elif word not in words:
                is_all = False
        if here.name not in _SHUT:
            todo += reversed(here.children)
    return " · ".join(words if is_all else [*words, "…"])


def _word(node: Node) -> str:
    value = node.value.split(" = ", 1)
    if node.name in ("name", "topic", "topic_name", "resource_name", "key", "client_software_name"):
        return node.value
    if node.name in ("records", "record_set"):
        return node.value.removesuffix(", checksums right")
    if node.name == "error_code":
        return value[-1]
    return f"{node.name} {value[0]}"

"""The tree of an annotated frame, which explains each byte of the frame.

A node without children is a *leaf*. The leaves of a tree, in order, cover each byte of the frame
exactly once. A node with children covers the same bytes as its children.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Problem(NamedTuple):
    """An error in a frame, with its position."""

    at: int
    """The position of the first wrong byte. If a byte is missing, the length of the frame."""
    path: str
    """The path of the field, for example `topic_data[0].name`."""
    reason: str


@dataclass(slots=True)
class Node:
    """One field of a frame, or a part of a field."""

    name: str
    type: str
    """The type on the wire, in words: `int16`, `compact string`."""
    start: int
    end: int
    """The position (bytes) after the last byte of the node."""
    value: str = ""
    """The value in words. Empty if the children show the value."""
    raw: object = None
    """The value of a leaf as a number, text or bytes. None if the value is null or was not
    decoded.
    """
    note: str = ""
    """The schema's description of the field, or how the bytes encode the value."""
    versions: str = ""
    """The versions of the message that have this field. Empty if it is not a field of a schema."""
    children: Sequence["Node"] = ()
    inner: Sequence["Node"] = ()
    """The nodes of the decompressed bytes. Their positions count in those bytes, not in the
    frame.
    """
    folded: bool = False
    """Whether the node's value already says everything, so that its children are usually hidden."""
    wrong: str = ""
    """The fault at this node. Empty if there is none."""

    @property
    def size(self) -> int:
        return self.end - self.start

    def leaves(self) -> Iterator["Node"]:
        """Yield the leaves below this node, in the order of their bytes."""
        if not self.children:
            yield self
            return
        for child in self.children:
            yield from child.leaves()

    def walk(self) -> Iterator["Node"]:
        """Yield this node and all nodes below it, parents first. Decompressed bytes are left
        out.
        """
        yield self
        for child in self.children:
            yield from child.walk()

    def path_to(self, at: int) -> list["Node"]:
        """Return the nodes that contain byte `at`, from this node down to a leaf.

        The list is empty if no node contains it.
        """
        if not self.start <= at < self.end:
            return []
        path: list[Node] = [self]
        while path[-1].children:
            path.append(next(c for c in path[-1].children if c.start <= at < c.end))
        return path


class Decoded(NamedTuple):
    """A decoded frame: its bytes, its tree, and the problems found in it."""

    data: bytes
    root: Node
    api: str
    """The name of the API, for example `Produce`. Empty if the API is unknown."""
    version: int
    is_response: bool
    correlation_id: int | None
    client_id: str | None
    problems: tuple[Problem, ...]

    @property
    def first_problem(self) -> Problem | None:
        """Return the problem with the first wrong byte, or None."""
        return min(self.problems, key=lambda problem: problem.at, default=None)

    @property
    def title(self) -> str:
        kind = "response" if self.is_response else "request"
        return f"{self.api} v{self.version} {kind}" if self.api else f"{kind} of an unknown API"

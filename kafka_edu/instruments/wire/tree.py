"""The tree of an annotated frame: what each byte of it means.

A node without children is a *leaf*. The leaves of a tree, in order, cover each byte of the frame
exactly once. A node with children covers what its children cover.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Problem(NamedTuple):
    """Something that is wrong in a frame."""

    at: int
    """The position of the first wrong byte. The length of the frame if a byte is missing there."""
    path: str
    """The field, for example `topic_data[0].name`."""
    reason: str


@dataclass(slots=True)
class Node:
    """One field, or a part of one."""

    name: str
    type: str
    """The type on the wire, in words: `int16`, `compact string`."""
    start: int
    end: int
    """The position after the last byte."""
    value: str = ""
    """The value in words. Empty if the children say it."""
    raw: object = None
    """The value of a leaf as a number, text or bytes. None for null, and if it was not decoded."""
    note: str = ""
    """The schema's sentence about the field, or how the bytes encode the value."""
    versions: str = ""
    """The versions of the message that have this field. Empty if it is not a field of a schema."""
    children: Sequence["Node"] = ()
    inner: Sequence["Node"] = ()
    """The tree of decompressed bytes. Its positions count in those bytes, not in the frame."""
    folded: bool = False
    """Whether the value says all that the children say, so that a reader rarely opens them."""
    wrong: str = ""
    """The fault found here. Empty if there is none."""

    @property
    def size(self) -> int:
        return self.end - self.start

    def leaves(self) -> Iterator["Node"]:
        """Yield the nodes without children, in the order of their bytes."""
        if not self.children:
            yield self
            return
        for child in self.children:
            yield from child.leaves()

    def walk(self) -> Iterator["Node"]:
        """Yield this node and all below it that lie in the frame, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def path_to(self, at: int) -> list["Node"]:
        """Return the nodes that hold byte `at`, from this one to a leaf. Empty if none does."""
        if not self.start <= at < self.end:
            return []
        path: list[Node] = [self]
        while path[-1].children:
            path.append(next(c for c in path[-1].children if c.start <= at < c.end))
        return path


class Decoded(NamedTuple):
    """A frame and its meaning."""

    data: bytes
    root: Node
    api: str
    """The name of the API, for example `Produce`. Empty if the frame names none that we know."""
    version: int
    is_response: bool
    correlation_id: int | None
    client_id: str | None
    problems: tuple[Problem, ...]

    @property
    def first_problem(self) -> Problem | None:
        """The problem with the first wrong byte, or None."""
        return min(self.problems, key=lambda problem: problem.at, default=None)

    @property
    def title(self) -> str:
        kind = "response" if self.is_response else "request"
        return f"{self.api} v{self.version} {kind}" if self.api else f"{kind} of an unknown API"

"""Show the causes and the effects of an event as a tree, drawn in lines of text (docs/chains.md).

A chain of causes is nearly always a straight line: one event leads to the next. So the main line of
the tree stays at the left edge, and only side branches are indented.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from kafka_edu.instruments.event_name import event_name
from kafka_edu.instruments.sentences import fact_text
from kafka_edu.instruments.session_names import with_owners
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.reader import History, TreeNode, order

FOLDED_FROM: Final = 4
"""From this number on, events of the same kind and the same cause are shown as one line."""


class ChainLine(NamedTuple):
    """A line of the drawn tree: one event, and the branches drawn in front of it."""

    rails: str
    """The drawing of the branches to the left of the event: `│ ├─`."""
    envelope: Envelope
    text: str
    also: tuple[str, ...]
    """The names of the event's further causes. The line is below its first cause."""
    more: int = 0
    """The number of further events of the same kind that this line stands for."""


class Chain(NamedTuple):
    """The causes and the effects of one event, as lines."""

    envelope: Envelope
    causes: list[ChainLine]
    """The lines for the causes, from the first cause to the event itself, which is the last
    line.
    """
    effects: list[ChainLine]
    effects_left: int
    """The number of effects that are not shown."""
    beginning: str
    """A sentence that says why no earlier cause is shown."""


def chain_of(history: History, envelope: Envelope, most_effects: int = 20) -> Chain:
    """Return the causes and the effects of one event. O(causes and effects).

    At most `most_effects` effects are shown.
    """
    trees = history.causes_tree(envelope)
    causes: list[ChainLine] = []
    for tree in sorted(trees, key=lambda tree: _holds(tree, envelope)):
        causes += _drawn(history, tree, envelope)
    root = history.effects_tree(envelope)
    effects = list(_drawn(history, root, None))[1:]
    main = next(tree for tree in trees if _holds(tree, envelope))
    return Chain(
        envelope=envelope,
        causes=causes,
        effects=effects[:most_effects],
        effects_left=sum(1 + line.more for line in effects[most_effects:]),
        beginning=history.beginning(main.envelope),
    )


def _holds(tree: TreeNode, envelope: Envelope) -> bool:
    return any(node.envelope is envelope for _, node in tree.walk())


def _drawn(history: History, tree: TreeNode, last: Envelope | None) -> Iterator[ChainLine]:
    """Yield the lines of a tree.

    The main line is the branch that holds `last`, or the longest branch.
    """
    sizes: dict[int, int] = {}
    line: set[int] = set()
    for _, node in reversed(list(tree.walk())):
        sizes[id(node)] = 1 + sum(sizes[id(child)] for child in node.children)
        if node.envelope is last or any(id(child) in line for child in node.children):
            line.add(id(node))

    waiting: list[tuple[str, str, TreeNode, int]] = [("", "", tree, 0)]
    while waiting:
        rails, mark, node, more = waiting.pop()
        yield ChainLine(
            rails=rails + mark,
            envelope=node.envelope,
            text=with_owners(fact_text(node.envelope.event), history),
            also=tuple(event_name(link.cause) for link in node.parents[1:]),
            more=more,
        )
        below = rails + ("│ " if mark else "")
        groups = list(folded(node.children))
        groups.sort(key=lambda group: (id(group[0]) in line, sizes[id(group[0])]))
        straight, aside = groups[-1:], groups[:-1]
        aside.sort(key=lambda group: order(group[0].envelope))
        for child, more_of_it in straight:
            waiting.append((below, "", child, more_of_it))
        for child, more_of_it in reversed(aside):
            waiting.append((below, "├╴", child, more_of_it))


def folded(children: list[TreeNode]) -> Iterator[tuple[TreeNode, int]]:
    """Yield (child, number of further children that it represents).

    If FOLDED_FROM or more children are similar, only the first of them is yielded, with the number
    of the children that are left out. For every other child the number is 0.
    """
    alike: dict[tuple[object, ...], list[TreeNode]] = {}
    for child in children:
        kind = (child.envelope.source, child.envelope.name, bool(child.children))
        key = kind if not child.children else (*kind, id(child))
        alike.setdefault(key, []).append(child)
    for group in alike.values():
        if len(group) < FOLDED_FROM:
            yield from ((child, 0) for child in group)
        else:
            yield group[0], len(group) - 1

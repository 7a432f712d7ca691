"""Draw znodes as a tree: their data, which ones belong to a session, and which ones changed."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

import graphviz

from .figure import BLUE, GREEN, GREY, LOUD, RED, YELLOW, html, new_figure, wrapped

SHOWN_CHILDREN: Final = 6
"""If a znode has more children than this, only the changed and the first ones are drawn."""
DATA_WIDTH: Final = 24
SHOWN_DATA: Final = 60
ROOT: Final = "/"

NEW, CHANGED, GONE = "new", "changed", "gone"
_CHANGES: Final = {NEW: GREEN, CHANGED: LOUD, GONE: RED}


class Znode(NamedTuple):
    """A znode in the picture."""

    path: str
    data: str = ""
    owner: str = ""
    """For an ephemeral znode, the owner of its session. Empty for a persistent znode."""
    change: str = ""
    """The change since an earlier moment: NEW, CHANGED or GONE. Empty if there is no change."""


def changes(before: Mapping[str, Znode], after: Mapping[str, Znode]) -> list[Znode]:
    """Return the znodes that exist at either moment, each marked as NEW, CHANGED, GONE or
    unchanged.
    """
    gone = [znode._replace(change=GONE) for path, znode in before.items() if path not in after]
    there = []
    for path, znode in after.items():
        was = before.get(path)
        how = NEW if was is None else CHANGED if was != znode else ""
        there.append(znode._replace(change=how))
    return [*there, *gone]


def znodes_figure(title: str, znodes: Sequence[Znode]) -> graphviz.Digraph:
    """Draw the tree from left to right.

    A parent that is not among the znodes is drawn without data.
    """
    by_path: dict[str, Znode] = {}
    for znode in sorted(znodes, key=lambda znode: znode.path):
        for path in _ancestors(znode.path):
            by_path.setdefault(path, Znode(path))
        by_path[znode.path] = znode
    children: dict[str, list[Znode]] = {}
    for path, znode in by_path.items():
        if path != ROOT:
            children.setdefault(_parent(path), []).append(znode)
    legend = [(YELLOW, "goes with its session"), (BLUE, "stays")]
    if any(znode.change for znode in znodes):
        legend += [(GREEN, "new"), (RED, "gone")]
    figure = new_figure("znodes", title, legend, rankdir="LR", nodesep="0.1", ranksep="0.3")
    figure.attr("node", shape="box", style="filled")
    top = _common(by_path, children)
    waiting = [by_path[top]]
    while waiting:
        znode = waiting.pop()
        figure.node(_name(znode.path), **_look(znode, top))
        below = children.get(znode.path, [])
        shown, hidden = _shown(below, children)
        for child in shown:
            figure.edge(_name(znode.path), _name(child.path))
        if hidden:
            more = f"{_name(znode.path)} more"
            figure.node(more, label=f"… {hidden:,} more", fillcolor=GREY)
            figure.edge(_name(znode.path), more)
        waiting += reversed(shown)
    return figure


def _common(by_path: Mapping[str, Znode], children: Mapping[str, Sequence[Znode]]) -> str:
    """Return the path of the first znode, from the root, that has data or several children."""
    top = ROOT
    while len(children.get(top, ())) == 1 and not by_path[top].data:
        top = children[top][0].path
    return top


def _shown(
    below: Sequence[Znode], children: Mapping[str, Sequence[Znode]]
) -> tuple[list[Znode], int]:
    """Return the children that are drawn, and the number of children that are not."""
    if len(below) <= SHOWN_CHILDREN + 1:
        return list(below), 0
    first = [child for child in below if _changed(child, children)][:SHOWN_CHILDREN]
    first += [child for child in below if child not in first][: SHOWN_CHILDREN - len(first)]
    return [child for child in below if child in first], len(below) - len(first)


def _changed(znode: Znode, children: Mapping[str, Sequence[Znode]]) -> bool:
    return bool(znode.change) or any(
        _changed(child, children) for child in children.get(znode.path, ())
    )


def _look(znode: Znode, top: str) -> dict[str, str]:
    name = znode.path if znode.path == top else znode.path.rpartition("/")[2]
    data = znode.data if len(znode.data) <= SHOWN_DATA else f"{znode.data[:SHOWN_DATA]}…"
    words = f"<b>{escape(name)}</b>"
    lines = wrapped(data.replace(",", ", "), DATA_WIDTH) if data else ""
    if znode.owner:
        lines += f'<i>{escape(znode.owner)}</i><br align="left"/>'
    if lines:
        words += f'<br align="left"/>{lines}'
    colour = YELLOW if znode.owner else BLUE
    look = {"label": html(words), "fillcolor": colour}
    if znode.change in (NEW, GONE):
        look["fillcolor"] = _CHANGES[znode.change]
    if znode.change:
        look |= {"penwidth": "3", "color": LOUD}
    if znode.change == GONE:
        look["style"] = "filled,dashed"
    return look


def _name(path: str) -> str:
    """Return the path as the name of a Graphviz node. Graphviz reads a colon as the start of a
    port.
    """
    return path.replace(":", "_")


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or ROOT


def _ancestors(path: str) -> list[str]:
    found = []
    while path != ROOT:
        path = _parent(path)
        found.append(path)
    return found

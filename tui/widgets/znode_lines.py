"""The tree of znodes, and the details of the znode under the cursor."""

import json
from typing import ClassVar, Final

from rich.text import Text
from textual.binding import Binding, BindingType

from kafka_edu.common.words import plural

from ..in_chinese import Verbatim
from ..model import Model
from ..subjects import ZNODES
from ..view_model.figures import count, duration
from ..view_model.znode_tree import PAGE, Row, Znode
from .drawn import Drawn, Lines, ink, stacked

_LABEL: Final = 31
EPHEMERAL: Final = "⚡"
WATCHED: Final = "⊙"
_DULL: Final = (
    "version",
    "timestamp",
    "features",
    "jmx_port",
    "topic_id",
    "listener_security_protocol_map",
    "host",
    "port",
)
"""Fields of a znode's data that are not shown in the one-line form. The detail shows all fields."""


def readable(data: str) -> str:
    """Return JSON in one line, without quotes around names and without unimportant fields.

    Data that is not JSON is returned in one line, unchanged otherwise.
    """
    try:
        value = json.loads(data)
    except ValueError:
        return " ".join(data.split())
    if isinstance(value, dict):
        value = {key: each for key, each in value.items() if key not in _DULL} or value
        return plain(value)[1:-1]  # one line needs no outer braces
    return plain(value)


def plain(value: object) -> str:
    """Return a value from JSON as a readable text: `{leader: 1, isr: [0, 1]}`."""
    match value:
        case dict():
            return "{" + ", ".join(f"{key}: {plain(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(plain, value)) + "]"
        case bool() | None:
            return json.dumps(value)
    return str(value)


def unfolded(data: str) -> list[str]:
    """Return JSON as lines, one line for each field of the outermost object."""
    try:
        value = json.loads(data)
    except ValueError:
        return data.splitlines()
    if not isinstance(value, dict):
        return [plain(value)]
    width = max((len(str(key)) for key in value), default=0)
    return [f"{key:<{width}}  {plain(each)}" for key, each in value.items()]


class ZnodeLines(Lines, Verbatim):
    """One line for each open znode. Only the lines in view are drawn."""

    subject = ZNODES
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "open(True)", "open", key_display="→⏎"),
        Binding("left", "open(False)", "close", key_display="←"),
    ]

    def __init__(self, model: Model) -> None:
        super().__init__(id="znodes")
        self.model = model
        self._found: list[Row] = []
        self._found_for: tuple[int, int, tuple[str, ...]] = (-1, -1, ())

    @property
    def rows(self) -> list[Row]:
        """The rows of the tree. With a filter, all znodes that match it, open or not."""
        tree, words = self.model.zookeeper.tree, self._filter()
        if not words:
            return tree.rows()
        if (id(tree), tree.version, words) != self._found_for:
            self._found = tree.found(words)
            self._found_for = id(tree), tree.version, words
        return self._found

    @property
    def chosen(self) -> Row | None:
        rows = self.rows
        return rows[min(self.cursor, len(rows) - 1)] if rows else None

    def count(self) -> int:
        return len(self.rows)

    def action_open(self, is_open: bool) -> None:
        """Open or close the znode under the cursor. On a closed one, ← goes up to its parent."""
        row = self.chosen
        if row is None:
            return
        if not is_open and not row.is_open:
            above = [i for i in range(self.cursor) if self.rows[i].depth < row.depth]
            if above:
                self.action_move(above[-1] - self.cursor)
            return
        if row.node.children or row.hidden:
            self.model.zookeeper.tree.set_open(row, is_open)
        self.tick()
        self.refresh()

    def action_choose(self) -> None:
        row = self.chosen
        if row is not None and (row.node.children or row.hidden):
            self.model.zookeeper.tree.toggle(row)
            self.tick()
            self.refresh()

    def line(self, index: int) -> Text:
        row, colours, view = self.rows[index], self.palette, self.model.zookeeper
        node, indent = row.node, "  " * min(row.depth, 12)
        if row.hidden:
            line = ink(f"{indent}  … {row.hidden:,} more", colours.dim)
            return line.append(f"  [enter] lists {min(row.hidden, PAGE):,} of them", colours.dim)
        sign = " " if not node.children else "▾" if row.is_open else "▸"
        line = ink(f"{indent}{sign} ", colours.dim)
        style = "bold" if node.children else ""
        if node.deleted_us:
            style = f"strike {colours.error}"
        elif view.glow.glows("znode", node.path):
            style = f"bold on {colours.glow}"
        line.append(row.label, style)
        if not row.is_open and node.children:
            line.append_text(self._children(node))
        label = max(min(_LABEL, self.size.width // 2), 16)
        line.append(" " * max(label - line.cell_len, 1))
        if node.deleted_us:
            ago = duration((view.glow.now_us - node.deleted_us) / 1000)
            line.append(f"gone {ago} ago", colours.error)
            if node.owner:
                line.append(" with ", colours.dim)
                line.append_text(self._who(node.owner)).append("'s session", colours.dim)
            return line
        line.append(f"v{node.version:<4}", "" if node.version else colours.dim)
        if node.owner:
            line.append(f"{EPHEMERAL} ", colours.warning)
            line.append_text(self._who(node.owner)).append("  ")
        watchers = view.watchers(node.path)
        if watchers:
            glow = f" on {colours.glow}" if view.glow.glows("watched", node.path) else ""
            line.append(f"{WATCHED} ", colours.quiet(bool(glow)))
            for broker, _ in watchers[:4]:
                name = str(broker) if broker is not None else "?"
                line.append(f"{name} ", f"bold {colours.broker(broker)}{glow}")
            if len(watchers) > 4:
                line.append(f"+{len(watchers) - 4} ", colours.dim)
            line.append(" ")
        elif view.glow.glows("watched", node.path):
            line.append("watch fired  ", f"bold on {colours.glow}")
        if node.data:
            line.append(readable(node.data), colours.dim)
        return line

    def _who(self, session_id: int) -> Text:
        broker = self.model.zookeeper.owner(session_id)
        if broker is None:
            return ink(f"{session_id:#x}", self.palette.dim)
        return ink(f"b{broker}", f"bold {self.palette.broker(broker)}")

    def _children(self, node: Znode) -> Text:
        """Return how many children a closed znode has.

        If it has a single child, return the number of that child's children.
        """
        while len(node.children) == 1 and next(iter(node.children.values())).children:
            (node,) = node.children.values()
        colours, glow = self.palette, self.model.zookeeper.glow
        style = f"bold on {colours.glow}" if glow.glows("below", node.path) else colours.dim
        return ink(" ").append(f"({count(len(node.children))})", style)


class ZnodeDetail(Drawn, Verbatim):
    """One znode: its path, version, owner, watchers, and its data.

    It is the znode under the cursor. At the root, it is the znode that changed last.
    """

    subject = ZNODES

    def __init__(self, model: Model) -> None:
        super().__init__(model, id="znode-detail")
        self.node: Znode | None = None

    def draw(self) -> Text:
        view, colours, node = self.model.zookeeper, self.palette, self.node
        if node is None:
            return ink("no znode is known yet", colours.dim)
        head = ink(node.path, "bold")
        head.append(f"  version {node.version}, zxid {node.mzxid:#x}", colours.dim)
        if node.changed_us:
            ago = duration((view.glow.now_us - node.changed_us) / 1000)
            head.append(f"  {node.how} {ago} ago", colours.warning)
        facts = Text()
        if node.children:
            facts.append(f"{plural(len(node.children), 'child').replace('childs', 'children')}  ")
        if node.owner:
            owner = view.owner(node.owner)
            whose = f"broker {owner}'s session" if owner is not None else "session"
            facts.append(f"{EPHEMERAL} goes with {whose} {node.owner:#x}  ", colours.warning)
        watchers = view.watchers(node.path)
        if watchers:
            names = [f"broker {b}" if b is not None else "another client" for b, _ in watchers]
            facts.append(f"{WATCHED} watched by {', '.join(names[:6])}", colours.dim)
        lines = [head, *([facts] if facts else [])]
        kept = max(self.size.height - len(lines), 1)
        data = unfolded(node.data) if node.data else []
        if node.data_length > len(node.data.encode()):
            data.append(f"… the first {len(node.data)} characters of {node.data_length:,} bytes")
        lines += [ink(each, "") for each in data[:kept]]
        return stacked(lines, self.size.width)

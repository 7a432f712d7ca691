"""The line of keys at the bottom."""

from typing import ClassVar, Final, NamedTuple

from rich.cells import cell_len
from rich.text import Text
from textual.events import Leave, MouseDown, MouseMove, Resize
from textual.screen import Screen
from textual.widget import Widget

_LEFT_OUT_FIRST: Final = ("sort", "breakpoints", "step(1)", "filter", "play")
"""The actions whose keys are left out first if there is no room. `?` lists all keys."""
_KEPT: Final = ("quit", "motion")
MORE: Final = "…"
_NOTHING: Final = -1


class ShownKey(NamedTuple):
    """One key with its description, as the footer shows it."""

    key: str
    display: str
    description: str
    action: str
    enabled: bool

    @property
    def cells(self) -> int:
        return cell_len(f"{self.display} {self.description}")


class KeysFooter(Widget):
    """The keys that can be used now, in one line. A click on a key works like pressing it.

    Textual's Footer has a widget for each key, and creates all of them again when one key changes.
    Here a key is only a piece of text. So the first visit of a screen needs 3 to 63 % less
    processor time.

    A key is shown completely or not at all. `…` at the end means that some keys are left out.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "keys-footer--key",
        "keys-footer--description",
        "keys-footer--under-mouse",
    }
    DEFAULT_CSS = """
    KeysFooter {
        dock: bottom;
        height: 1;
        color: $footer-foreground;
        background: $footer-background;
        & > .keys-footer--key {
            color: $footer-key-foreground;
            background: $footer-key-background;
            text-style: bold;
        }
        & > .keys-footer--description {
            color: $footer-description-foreground;
            background: $footer-description-background;
        }
        & > .keys-footer--under-mouse {
            color: $footer-key-foreground;
            background: $block-hover-background;
        }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._all: tuple[ShownKey, ...] = ()
        self._under_mouse = _NOTHING

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self.bindings_changed)

    def on_unmount(self) -> None:
        self.screen.bindings_updated_signal.unsubscribe(self)

    def bindings_changed(self, screen: Screen[object]) -> None:
        """Draw the line again if its keys have changed."""
        if not (screen.app.app_focus and self.is_attached and screen is self.screen):
            return
        by_action: dict[str, ShownKey] = {}
        for active in screen.active_bindings.values():
            binding = active.binding
            if binding.show and binding.action not in by_action:
                by_action[binding.action] = ShownKey(
                    binding.key,
                    self.app.get_key_display(binding),
                    binding.description,
                    binding.action,
                    active.enabled,
                )
        keys = tuple(by_action.values())
        if keys != self._all:
            self._all, self._under_mouse = keys, _NOTHING
            self.refresh()

    def on_resize(self, event: Resize) -> None:
        """Update the keys: on a larger screen other keys may be usable."""
        self.call_after_refresh(self.bindings_changed, self.screen)

    @property
    def shown(self) -> tuple[ShownKey, ...]:
        """The keys for which there is room, in order. Empty as long as no keys are known."""
        return tuple(_fitting(self._all, self.size.width))

    def render(self) -> Text:
        shown = self.shown
        line = Text(no_wrap=True, end="")
        key_style = self.get_component_rich_style("keys-footer--key")
        description_style = self.get_component_rich_style("keys-footer--description")
        for i, each in enumerate(shown):
            name = Text.assemble(
                (each.display, key_style), (f" {each.description}", description_style)
            )
            if not each.enabled:
                name.stylize("dim")
            if i == self._under_mouse:
                name.stylize(self.get_component_rich_style("keys-footer--under-mouse"))
            line.append_text(name).append(" ")
        if len(shown) < len(self._all):
            line.append(MORE, description_style)
        return line

    def _at(self, x: int) -> int:
        """Return the index of the displayed key in this column, or `_NOTHING`."""
        begin = 0
        for i, each in enumerate(self.shown):
            if begin <= x < begin + each.cells:
                return i
            begin += each.cells + 1
        return _NOTHING

    def on_mouse_down(self, event: MouseDown) -> None:
        at = self._at(event.x)
        if at == _NOTHING:
            return
        if self.shown[at].enabled:
            self.app.simulate_key(self.shown[at].key)
        else:
            self.app.bell()
        event.stop()

    def on_mouse_move(self, event: MouseMove) -> None:
        self._point_at(self._at(event.x))

    def on_leave(self, event: Leave) -> None:
        self._point_at(_NOTHING)

    def _point_at(self, at: int) -> None:
        if at != self._under_mouse:
            self._under_mouse = at
            self.refresh()


def _fitting(keys: tuple[ShownKey, ...], width: int) -> list[ShownKey]:
    """Return the keys for which there is room, in their order."""

    def needed(left: list[ShownKey]) -> int:
        room = sum(key.cells + 1 for key in left)
        return room - 1 if len(left) == len(keys) else room + len(MORE)

    left = list(keys)
    while len(left) > 1 and needed(left) > width:
        first = [key for action in _LEFT_OUT_FIRST for key in left if key.action == action]
        others = [key for key in left if key.action not in _KEPT]
        left.remove((first or others[::-1] or left)[0])
    return left

"""The line of keys at the bottom."""

from typing import Final

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Footer, Label
from textual.widgets._footer import FooterKey

_LEFT_OUT_FIRST: Final = ("sort", "breakpoints", "step(1)", "filter", "play")
"""The actions whose keys are left out first where there is no room. `?` lists all keys."""
_KEPT: Final = ("quit", "motion")
MORE: Final = "…"


class KeysFooter(Footer):
    """Textual's footer, without what it keeps and does too much of.

    Textual makes all keys anew whenever a binding may have changed. The old ones stay in the
    footer's list of watchers, each with its styles and pictures: some 60 MB an hour. So the list
    is cleaned, and keys are made only if others are to be shown.

    A key stands there whole or not at all. `…` at the end says that some are left out.
    """

    def __init__(self) -> None:
        super().__init__(compact=True, show_command_palette=False)
        self._keys_shown: tuple[object, ...] = ()

    def bindings_changed(self, screen: Screen[object]) -> None:
        """Make the keys anew if they differ from those that are shown."""
        if not (screen.app.app_focus and self.is_attached and screen is self.screen):
            return
        keys = tuple(
            (active.binding.key, active.binding.description, active.enabled)
            for active in screen.active_bindings.values()
            if active.binding.show
        )
        if keys != self._keys_shown or not self._bindings_ready:
            self._keys_shown = keys
            super().bindings_changed(screen)

    def compose(self) -> ComposeResult:
        keys = [each for each in super().compose() if isinstance(each, FooterKey)]
        fitting = _fitting(keys, self.app.size.width)
        yield from fitting
        if len(fitting) < len(keys):
            yield Label(MORE, id="more-keys")

    def on_resize(self, event: Resize) -> None:
        if self._bindings_ready:
            self.call_after_refresh(self.recompose)

    async def recompose(self) -> None:
        await super().recompose()
        self.mutate_reactive(Footer.compact)  # Textual then forgets watchers that are gone


def _fitting(keys: list[FooterKey], width: int) -> list[FooterKey]:
    """Return the keys for which there is room, in their order."""

    def needed(left: list[FooterKey]) -> int:
        room = sum(cell_len(f"{key.key_display} {key.description} ") for key in left)
        return room - 1 if len(left) == len(keys) else room + len(MORE)

    left = list(keys)
    while len(left) > 1 and needed(left) > width:
        first = [key for action in _LEFT_OUT_FIRST for key in left if key.action == action]
        others = [key for key in left if key.action not in _KEPT]
        left.remove((first or others[::-1] or left)[0])
    return left

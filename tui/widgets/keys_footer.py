"""The line of keys at the bottom."""

from textual.screen import Screen
from textual.widgets import Footer


class KeysFooter(Footer):
    """Textual's footer, without what it keeps and does too much of.

    Textual makes all keys anew whenever a binding may have changed. The old ones stay in the
    footer's list of watchers, each with its styles and pictures: some 60 MB an hour. So the list
    is cleaned, and keys are made only if others are to be shown.
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

    async def recompose(self) -> None:
        await super().recompose()
        self.mutate_reactive(Footer.compact)  # Textual then forgets watchers that are gone

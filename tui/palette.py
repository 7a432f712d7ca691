"""Colours. Each broker has one, the same on every screen; no meaning is told by colour alone:
symbol and words stand beside it.

The brokers' colours are Okabe and Ito's, which people who see fewer colours can tell apart, made
lighter or darker for the theme's ground.
"""

from typing import Final, NamedTuple

from textual.theme import Theme


class Palette(NamedTuple):
    """Colours for the text that widgets draw; the rest of the screen follows Textual's theme."""

    brokers: tuple[str, ...]
    ok: str
    warning: str
    error: str
    dim: str
    text: str
    glow: str
    """The ground of what has just changed."""
    cursor: str
    hand: str

    def broker(self, broker_id: int) -> str:
        return self.brokers[broker_id % len(self.brokers)] if broker_id >= 0 else self.text

    def verdict(self, kind: str) -> str:
        return {"ok": self.ok, "warning": self.warning, "error": self.error}[kind]


DARK: Final = Palette(
    ("#56b4e9", "#f0a830", "#3fd0a0", "#e08ac0", "#f0e442", "#8fb8ff", "#ff8c5a", "#b0b0b0"),
    "#3fd0a0",
    "#f5c542",
    "#ff6b5e",
    "#8a93a0",
    "#e8ecf1",
    "#4a4416",
    "#26384d",
    "#ff8c5a",
)
LIGHT: Final = Palette(
    ("#00609a", "#9a5b00", "#00704f", "#9c3f78", "#6b6400", "#2f4fb0", "#b03f00", "#555555"),
    "#00704f",
    "#8a5a00",
    "#b3261e",
    "#5c6570",
    "#15191e",
    "#fff0a8",
    "#d3e4f5",
    "#b03f00",
)

THEMES: Final = (
    Theme(
        name="kafka-edu-dark",
        primary="#56b4e9",
        secondary="#3fd0a0",
        warning="#f5c542",
        error="#ff6b5e",
        success="#3fd0a0",
        accent="#f0a830",
        foreground="#e8ecf1",
        background="#0d1117",
        surface="#0d1117",
        panel="#1b2230",
        dark=True,
    ),
    Theme(
        name="kafka-edu-light",
        primary="#00609a",
        secondary="#00704f",
        warning="#8a5a00",
        error="#b3261e",
        success="#00704f",
        accent="#9a5b00",
        foreground="#15191e",
        background="#fbfbf8",
        surface="#fbfbf8",
        panel="#e6e9ec",
        dark=False,
    ),
)

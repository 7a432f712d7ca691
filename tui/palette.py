"""Colours. Each broker has one colour, the same on every screen.

Colour is never the only sign: there is always a symbol or a word next to it. The brokers' colours
follow those of Okabe and Ito, lighter or darker to suit the background of the theme. A test checks
that colour-blind people can tell the first five apart (tests/unit/tui/test_palette.py).
"""

from typing import Final, NamedTuple

from textual.theme import Theme


class Palette(NamedTuple):
    """The colours of the text that widgets draw. The rest of the screen follows Textual's theme."""

    brokers: tuple[str, ...]
    ok: str
    warning: str
    error: str
    dim: str
    text: str
    glow: str
    """The background colour of a value that has just changed."""
    cursor: str
    hand: str
    differs: str
    """The background colour of a place in which two futures differ."""

    def broker(self, broker_id: int | None) -> str:
        return (
            self.brokers[broker_id % len(self.brokers)]
            if broker_id is not None and broker_id >= 0
            else self.text
        )

    def quiet(self, glows: bool) -> str:
        """Return the style of less important text. If `glows`, the text has just changed and is
        highlighted.
        """
        return f"{self.text} on {self.glow}" if glows else self.dim

    def verdict(self, kind: str) -> str:
        return {"ok": self.ok, "warning": self.warning, "error": self.error}[kind]


DARK: Final = Palette(
    ("#56b4e9", "#f0a830", "#3fd0a0", "#e08ac0", "#f0e442", "#8fb8ff", "#ff8c5a", "#b0b0b0"),
    "#3fd0a0",
    "#f5c542",
    "#ff7b70",
    "#9aa3b0",
    "#e8ecf1",
    "#3f390c",
    "#26384d",
    "#ff8c5a",
    "#5a2a66",
)
LIGHT: Final = Palette(
    ("#005a9c", "#8f5600", "#0d7039", "#a03a7a", "#4b1d52", "#2f4fb0", "#b03f00", "#555555"),
    "#00704f",
    "#8a5a00",
    "#b3261e",
    "#5c6570",
    "#15191e",
    "#fff0a8",
    "#d3e4f5",
    "#b03f00",
    "#f0cdf5",
)

THEMES: Final = (
    Theme(
        name="kafka-edu-dark",
        primary="#56b4e9",
        secondary="#3fd0a0",
        warning="#f5c542",
        error="#ff7b70",
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
        accent="#8f5600",
        foreground="#15191e",
        background="#fbfbf8",
        surface="#fbfbf8",
        panel="#e6e9ec",
        dark=False,
    ),
)

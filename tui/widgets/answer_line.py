"""The answer to a screen's question, in one line."""

from rich.text import Text

from .drawn import Drawn, ink
from .event_text import coloured


def answer_line(widget: Drawn, answer: tuple[str, str]) -> Text:
    """Return an answer's sentence in the colour of its kind, cut to the widget's width.

    As long as the model does not know the whole cluster, the line says why instead.
    """
    kind, words = answer
    if unknown := widget.model.unknown():
        kind, words = "warning", f"… {unknown}"
    line = coloured(ink(words, f"bold {widget.palette.verdict(kind)}"), widget.palette)
    line.truncate(widget.size.width, overflow="ellipsis")
    return line

"""The choices of the reader, and the list of screens: widgets ask the app for them here."""

from typing import Protocol, runtime_checkable

from textual.widget import Widget

from .model import Model
from .screens.declaration import ScreenDeclaration


@runtime_checkable
class Reader(Protocol):
    """The choices of the person who reads. DashboardApp holds them."""

    chinese: bool
    """Whether the words of the glossary are in Chinese."""
    filter_words: tuple[str, ...]
    """The text that a line of a list must hold to be shown."""
    declarations: tuple[ScreenDeclaration, ...]
    """All screens, for the line of jump keys."""
    model: Model
    """What is known of the cluster, and what is not known yet."""


def reader_of(widget: Widget) -> Reader:
    """Return the choices that hold for a widget."""
    app = widget.app
    assert isinstance(app, Reader)
    return app

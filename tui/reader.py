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


def reader_of(widget: Widget) -> Reader:
    """Return the choices that hold for a widget."""
    app = widget.app
    assert isinstance(app, Reader)
    return app


@runtime_checkable
class Informed(Protocol):
    """An app that has a model. DashboardApp has one."""

    model: Model
    """What is known of the cluster, and what is not known yet."""


def unknown_to(widget: Widget) -> str:
    """Say why an empty list of a widget proves nothing; empty if it does."""
    app = widget.app
    return app.model.unknown() if isinstance(app, Informed) else ""

"""The reader's choices and the list of screens.

Widgets get them from the app through this module.
"""

from typing import Protocol, runtime_checkable

from textual.widget import Widget

from .model import Model
from .screens.declaration import ScreenDeclaration


@runtime_checkable
class Reader(Protocol):
    """The choices of the person who reads the dashboard. DashboardApp holds them."""

    chinese: bool
    """Whether the words of the glossary are shown in Chinese."""
    filter_words: tuple[str, ...]
    """The words that a line of a list must contain to be shown."""
    declarations: tuple[ScreenDeclaration, ...]
    """All screens, in the order of the jump keys."""


def reader_of(widget: Widget) -> Reader:
    """Return the reader's choices for the app of this widget."""
    app = widget.app
    assert isinstance(app, Reader)
    return app


@runtime_checkable
class Informed(Protocol):
    """An app that has a model, such as DashboardApp."""

    model: Model
    """The facts about the cluster that are known, and those that are not known yet."""


def unknown_to(widget: Widget) -> str:
    """Return why an empty list in this widget may be wrong, or "" if the list is right."""
    app = widget.app
    return app.model.unknown() if isinstance(app, Informed) else ""

"""The audience of a presentation: a class that answers the script's questions."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from kafka_edu.instruments.presenter.presentation import Presentation


class Audience(Protocol):
    """The students who follow a presentation. The presenter calls `look` regularly, so that they
    see its present page.
    """

    def serve(self) -> AbstractAsyncContextManager[None]:
        """Serve the audience until the block ends. Raises OSError if that is impossible."""

    def look(self, at: Presentation) -> list[str]:
        """Follow the presentation to its present page. Return new lines for the screen."""

    def key(self, key: str) -> bool:
        """Handle a key if it is meant for the audience. Return whether the key was meant for it."""

"""The audience of a presentation: a class that answers its questions."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from kafka_edu.instruments.presenter.presentation import Presentation


class Audience(Protocol):
    """Follows a presentation. The presenter calls it at each look."""

    def serve(self) -> AbstractAsyncContextManager[None]:
        """Be there for the length of a block. Raises OSError."""

    def look(self, at: Presentation) -> list[str]:
        """Follow the presentation. Return new lines for the screen."""

    def key(self, key: str) -> bool:
        """Take a key, if it is for the audience. Return whether it was."""

"""How acts reach the cluster: through the socket of its supervisor, or through a function that the
app was given.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, runtime_checkable

from textual.widget import Widget

from kafka_edu.supervisor.action_client import ActionRefusedError, ask_once
from kafka_edu.supervisor.cluster_folder import ClusterFolder

Values = Mapping[str, int | str]
"""Name of an act's parameter → its value."""
Ask = Callable[[str, Values], Awaitable[str]]
"""A function that has an act carried out, and returns its result. It raises ActionRefusedError or
NoSupervisorError.
"""


@runtime_checkable
class Asking(Protocol):
    """An app that can have acts carried out, such as DashboardApp."""

    ask_supervisor: Ask


def by_socket(folder: ClusterFolder) -> Ask:
    """Return a function that asks the supervisor of this cluster. A thread waits for the answer."""

    def ask(name: str, values: Values) -> str:
        return str(ask_once(folder.action_address, name, values).get("message", ""))

    async def in_thread(name: str, values: Values) -> str:
        return await asyncio.to_thread(ask, name, values)

    return in_thread


async def of_recording(name: str, values: Values) -> str:
    """Refuse an act, because the cluster is only a recording."""
    raise ActionRefusedError("this is a recording: acts need a live cluster")


def ask_of(widget: Widget) -> Ask:
    """Return how acts are asked for in the app of this widget."""
    app = widget.app
    assert isinstance(app, Asking)
    return app.ask_supervisor

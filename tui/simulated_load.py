"""The load of a simulated cluster: it runs in the simulation, in virtual time."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from kafka_edu.supervisor.action_client import ActionRefusedError, NoSupervisorError

from .asking import Ask

_NAMES: Final = {"record-size": "size"}
"""The options of `kafka-edu load` that have a different name in the simulation."""


class LoadRefused(OSError):
    """The simulation cannot do it now. The text is its reason."""


class SimulatedLoad:
    """Asks the simulation for a load. It has the methods of LoadProcess."""

    def __init__(self, ask: Ask) -> None:
        self._simulation = ask

    async def runs(self) -> bool:
        """Return whether a load runs in the simulation at its present moment.

        The simulation must be asked: a load also ends when its time is over, and when the run goes
        back in time, there may be a load or not.
        """
        try:
            return await self._ask("sim-loads", {}) != "0"
        except LoadRefused:
            return False

    async def start(self, options: Sequence[str] = ()) -> None:
        """Start a load with these options of the command `load`. Raises LoadRefused."""
        values: dict[str, int | str] = {}
        for name, value in zip(options[::2], options[1::2], strict=True):
            name = name.removeprefix("--")
            if name == "seconds":
                values["for_ms"] = round(1_000 * float(value))
            else:
                values[_NAMES.get(name, name)] = value
        await self._ask("start-load", values)

    async def stop(self) -> None:
        """Ask the load to end. It first waits for its last answers."""
        if await self.runs():
            with suppress(LoadRefused):  # it has ended by itself, or the simulation has
                await self._ask("stop-load", {})

    def failure(self) -> str | None:
        """Return None: a simulated load ends only when it shall end, and has no exit code."""
        return None

    async def _ask(self, action: str, values: dict[str, int | str]) -> str:
        try:
            return await self._simulation(action, values)
        except (ActionRefusedError, NoSupervisorError) as error:
            raise LoadRefused(str(error)) from error

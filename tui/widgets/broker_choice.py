"""A broker that a reader chooses with ← and →."""

from collections.abc import Sequence

from ..model import Model


class BrokerChoice:
    """The broker that is chosen among the known ones. It stays chosen if it is unknown for a
    time.
    """

    def __init__(self) -> None:
        self._chosen: int | None = None

    def of(self, known: Sequence[int]) -> int | None:
        """Return the chosen broker, or the first broker if the chosen one is not known. Return None
        if there are no brokers.
        """
        if self._chosen in known:
            return self._chosen
        return known[0] if known else None

    def move(self, known: Sequence[int], by: int) -> None:
        """Choose the next broker."""
        now = self.of(known)
        if now is not None:
            self._chosen = known[(known.index(now) + by) % len(known)]


class BrokerOfActs:
    """The broker on which a screen's keys act. The reader chooses it among all brokers."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._choice = BrokerChoice()

    def _known(self) -> list[int]:
        return sorted(self._model.cluster.brokers.by_id)

    def title(self) -> str:
        """Return the end of a title, with the broker's id, or "" if there are no brokers."""
        broker = self._choice.of(self._known())
        return f" · keys act on broker {broker}" if broker is not None else ""

    def act_values(self) -> dict[str, int | str]:
        """Return the parameters of an act on the broker."""
        broker = self._choice.of(self._known())
        return {"broker": broker} if broker is not None else {}

    def move(self, by: int) -> None:
        """Choose the next broker."""
        self._choice.move(self._known(), by)

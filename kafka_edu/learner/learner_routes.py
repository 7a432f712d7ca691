"""Exercise 08-2 in a live proxy: a learner's Routes say which cluster a client belongs to.

A wrong answer is used if it names a cluster of the proxy: the client then reaches the wrong
cluster. If the proxy does not have the named cluster, or that cluster does not serve now, that is
an error in the learner's code, and the shipped code chooses.
"""

from collections.abc import Callable

from kafka_edu.clients.proxy import routes as ours
from kafka_edu.clients.proxy.routes import Choice, Route, Routes
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError

_OURS = ours.Routes


class LearnerRoutes(_OURS):
    """Asks an object of the learner's class to choose a cluster. If that fails, the shipped code
    chooses.
    """

    def __init__(self, code: LearnerCode, routes: tuple[Route, ...]) -> None:
        super().__init__(routes)
        self._ours = _OURS(routes)
        self._code = code
        self._names = {cluster for route in routes for cluster in route.clusters}
        rows = [[one.client, one.topic, list(one.clusters)] for one in routes]
        self._part = LearnerPart(code, rows)

    def clusters_for(self, client_id: str, topic: str | None) -> tuple[str, ...]:
        if not self._code.retired:
            try:
                match self._part.ask("clusters_for", client_id, topic):
                    case tuple(found) if all(one in self._names for one in found):
                        return found
                    case answer:
                        raise self._code.blame(
                            f"clusters_for({client_id!r}, {topic!r}) answered {answer!r}; expected"
                            f" some of {', '.join(sorted(self._names))}"
                        )
            except LearnerError as error:
                self._code.failed(error)
        return self._ours.clusters_for(client_id, topic)

    def choose(
        self, client_id: str, address: str, topic: str | None, serves: Callable[[str], bool]
    ) -> Choice:
        right = self._ours.choose(client_id, address, topic, serves)
        if self._code.retired:
            return right
        serving = sorted(filter(serves, self._names))
        try:
            answer = self._part.ask("choose", client_id, address, topic, serving)
            if answer is None:
                return Choice(None, right.reason or "no route")
            if answer in serving:
                return Choice(str(answer), "")
            raise self._code.blame(
                f"choose({client_id!r}, {address!r}, {topic!r}, {serving}) answered {answer!r};"
                " expected a cluster that serves, or None"
            )
        except LearnerError as error:
            self._code.failed(error)
            return right


def adapt(code: LearnerCode) -> Callable[[tuple[Route, ...]], Routes]:
    """Return the function that replaces `Routes` in a proxy."""
    return lambda routes: LearnerRoutes(code, routes)

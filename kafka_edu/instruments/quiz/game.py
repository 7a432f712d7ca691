"""The rules of a quiz: the teams, the open question, each team's answers, and the points.

    Lobby → Open → Closed → Revealed → Open → … → End

The module has no clock and no network. The server and the presenter call it. A right answer gives
100 points, and its speed does not matter. A team may change its answer until the question closes.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

POINTS: Final = 100
MOST_TEAMS: Final = 60
LONGEST_NAME: Final = 20
LARGEST: Final = 10**12
SHORT: Final = 5
"""The number of lines in the short ranking."""


class QuizError(Exception):
    """The game refuses a request. The message says why, and what to do."""


class Phase(StrEnum):
    """The phase of a quiz."""

    LOBBY = "lobby"
    OPEN = "open"
    CLOSED = "closed"
    REVEALED = "revealed"
    END = "end"


class Ask(NamedTuple):
    """A question as the class sees it, without the right answer."""

    number: int
    """The number of the question, from 1."""
    text: str
    choices: tuple[str, ...]
    """The choices. Empty if the answer is a number."""
    unit: str = ""


class Team(NamedTuple):
    """One line of the ranking: a team with its rank and points."""

    rank: int
    """The rank, from 1. Teams with the same points have the same rank."""
    name: str
    points: int


class _Player:
    """A team that plays, with its answers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.points = 0
        self.answers: dict[int, int] = {}
        """Each question's number, and the team's answer to it."""
        self.right: dict[int, bool] = {}


class Game:
    """The state of one quiz. Only one event loop uses it."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.phase = Phase.LOBBY
        self.ask: Ask | None = None
        self.right = ""
        """The right answer to the last question, in words."""
        self.asked = 0
        """The number of questions that were revealed so far."""
        self._players: dict[str, _Player] = {}

    def join(self, name: str) -> str:
        """Add a team to the quiz, and return its token. A team may join late. Raises QuizError."""
        wanted = " ".join(name.split())
        if not wanted:
            raise QuizError("a team needs a name: write one")
        if len(wanted) > LONGEST_NAME:
            raise QuizError(f"a name has at most {LONGEST_NAME} letters: choose a shorter one")
        if not wanted.isprintable():
            raise QuizError("a name has letters that can be shown: choose another one")
        if any(one.name.casefold() == wanted.casefold() for one in self._players.values()):
            raise QuizError(f"a team has the name {wanted} already: choose another name")
        if len(self._players) >= MOST_TEAMS:
            raise QuizError(f"there are {MOST_TEAMS} teams already: join one of them")
        token = secrets.token_urlsafe(12)
        self._players[token] = _Player(wanted)
        return token

    def knows(self, token: str) -> bool:
        """Return whether this token belongs to a team."""
        return token in self._players

    def answer(self, token: str, value: int) -> None:
        """Store a team's answer. Raises QuizError.

        `value` is the number of the choice, from 1, or the number that the team typed.
        """
        player = self._players.get(token)
        if player is None:
            raise QuizError("this team is not in the quiz: join first")
        if self.phase is not Phase.OPEN or self.ask is None:
            raise QuizError("no question is open now: wait for the next one")
        if self.ask.choices and not 1 <= value <= len(self.ask.choices):
            raise QuizError(f"the answers are 1 to {len(self.ask.choices)}")
        if not 0 <= value <= LARGEST:
            raise QuizError(f"the answer is a number from 0 to {LARGEST:,}")
        player.answers[self.ask.number] = value

    def open(self, ask: Ask) -> None:
        """Open a question: from now on the teams may answer it."""
        self.phase, self.ask, self.right = Phase.OPEN, ask, ""

    def close(self) -> None:
        """Accept no more answers, because the cluster now shows the right answer."""
        if self.phase is Phase.OPEN:
            self.phase = Phase.CLOSED

    def reveal(self, is_right: Callable[[int], bool], right: str) -> None:
        """Give points for the question. `right` is the right answer in words. O(teams)."""
        self.close()
        if self.phase is not Phase.CLOSED or self.ask is None:
            return
        self.phase, self.right, self.asked = Phase.REVEALED, right, self.asked + 1
        for player in self._players.values():
            said = player.answers.get(self.ask.number)
            player.right[self.ask.number] = said is not None and is_right(said)
            player.points += POINTS * player.right[self.ask.number]

    def end(self) -> None:
        """End the quiz. The page then shows the last ranking."""
        self.phase = Phase.END

    @property
    def teams(self) -> int:
        """Return the number of teams that play."""
        return len(self._players)

    @property
    def answered(self) -> int:
        """Return the number of teams that have answered the current question."""
        if self.ask is None:
            return 0
        return sum(self.ask.number in one.answers for one in self._players.values())

    def counts(self) -> list[int]:
        """Return, for each choice of the current question, the number of teams that chose it."""
        if self.ask is None:
            return []
        said = [one.answers.get(self.ask.number) for one in self._players.values()]
        return [said.count(choice) for choice in range(1, len(self.ask.choices) + 1)]

    def ranking(self) -> list[Team]:
        """Return all teams, the best first. Teams with the same points are sorted by name."""
        points = [one.points for one in self._players.values()]
        made = [
            Team(1 + sum(other > one.points for other in points), one.name, one.points)
            for one in self._players.values()
        ]
        return sorted(made, key=lambda one: (one.rank, one.name.casefold()))

    def state_of(self, token: str) -> Mapping[str, object]:
        """Return the contents of a team's page, with the right answer only after it was
        revealed.
        """
        player, ask = self._players.get(token), self.ask
        shown: dict[str, object] = {
            "title": self.title,
            "phase": self.phase.value,
            "teams": self.teams,
            "answered": self.answered,
            "ranking": [one._asdict() for one in self.ranking()[:SHORT]],
        }
        if ask is not None:
            shown |= {
                "number": ask.number,
                "question": ask.text,
                "choices": list(ask.choices),
                "unit": ask.unit,
            }
        if self.phase is Phase.REVEALED:
            shown["right"] = self.right
        if player is not None:
            own = next(one for one in self.ranking() if one.name == player.name)
            shown |= {"name": player.name, "points": player.points, "rank": own.rank}
            if ask is not None:
                shown["answer"] = player.answers.get(ask.number)
                shown["was_right"] = player.right.get(ask.number)
        return shown

    def table(self) -> list[Sequence[str]]:
        """Return the rows for a CSV file: a header, then each team with its points and answers."""
        numbers = sorted({n for one in self._players.values() for n in (*one.answers, *one.right)})
        rows: list[Sequence[str]] = [("team", "points", *(f"question {n}" for n in numbers))]
        by_name = {one.name: one for one in self._players.values()}
        for team in self.ranking():
            answers = by_name[team.name].answers
            rows.append((team.name, str(team.points), *(str(answers.get(n, "")) for n in numbers)))
        return rows

"""Run a quiz along with a presentation.

A question of the presentation is open for the teams while the presenter shows it. When the cluster
has shown the right answer, the teams get points according to that answer.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from kafka_edu.common.words import plural
from kafka_edu.instruments.presenter.expectation import readable
from kafka_edu.instruments.presenter.presentation import Phase as PresentationPhase
from kafka_edu.instruments.presenter.presentation import Presentation
from kafka_edu.instruments.presenter.script import Question
from kafka_edu.instruments.quiz.game import SHORT, Ask, Game, Phase, QuizError

Serving = Callable[[], AbstractAsyncContextManager[str]]
"""A function that serves the page, and yields a line with the page's address."""
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


class QuizHost:
    """Runs a quiz for the audience of one presentation."""

    def __init__(self, game: Game, serving: Serving | None = None) -> None:
        """Run this game. Without `serving` there is no network: the teacher types all answers."""
        self.game = game
        self._serving = serving
        self._tokens: dict[str, str] = {}
        """Each letter that the teacher may type, and the token of the team with this letter."""
        self._open: tuple[int, Question] | None = None
        self._letter = ""
        self._digits = ""
        self._said = ""
        self._welcomed = False
        self.where = ""
        """A line that says how to join. Empty without a network."""

    def seat(self, names: list[str]) -> None:
        """Add teams whose answers the teacher types. They get the letters a, b, c, … in this order.

        Raises QuizError if there are more teams than letters.
        """
        if len(names) > len(_LETTERS):
            raise QuizError(f"at most {len(_LETTERS)} teams can be typed")
        for letter, name in zip(_LETTERS, names, strict=False):
            self._tokens[letter] = self.game.join(name)

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[None]:
        """Serve the quiz's page, if there is one, until the block ends. Raises OSError."""
        if self._serving is None:
            yield
            return
        async with self._serving() as where:
            self.where = where
            yield

    def look(self, at: Presentation) -> list[str]:
        """Open or close a question, or reveal its answer, as the presentation does. Return lines to
        print.
        """
        if self.where and not self._welcomed:
            self._welcomed = True
            return [self.where]
        if at.phase is PresentationPhase.QUESTION and not at.looking_back:
            if self._open is None or self._open[0] != at.step:
                return [*self._reveal(at), *self._ask(at)]
            return self._progress()
        if self._open is not None and at.phase is PresentationPhase.WATCHING:
            self.game.close()
            return []
        lines = self._reveal(at)
        if at.phase is PresentationPhase.END and self.game.phase is not Phase.END:
            self.game.end()
            lines += ["The quiz is over.", *self._ranking(self.game.teams)]
        return lines

    def _ask(self, at: Presentation) -> list[str]:
        ask = at.present.ask
        if ask is None or not ask.has_answer:
            return []
        self._open = (at.step, ask)
        unit = ask.number.unit if ask.number is not None else ""
        choices = tuple(readable(one, at.names) for one in ask.choices)
        self.game.open(Ask(self.game.asked + 1, readable(ask.question, at.names), choices, unit))
        self._said, self._letter, self._digits = "", "", ""
        if self._serving is not None:
            return [self.where, "The space key closes the question."]
        seats = ", ".join(
            f"{letter} {name}" for letter, name in zip(self._tokens, self._names(), strict=True)
        )
        return [f"A letter and a digit answer for a team: {seats}. The space key closes."]

    def _names(self) -> list[str]:
        return [str(self.game.state_of(token)["name"]) for token in self._tokens.values()]

    def _progress(self) -> list[str]:
        """Return a line with the number of teams that have answered, if that number has changed."""
        line = f"{self.game.answered} of {plural(self.game.teams, 'team')} have answered"
        if line == self._said or not self.game.answered:
            return []
        self._said = line
        return [line]

    def _reveal(self, at: Presentation) -> list[str]:
        """Give points for the question that was open. Return the lines to print about them."""
        if self._open is None:
            return []
        _, ask = self._open
        self._open = None
        right = readable(ask.right_words(at.names), at.names)
        if ask.number is None:
            right = f"{ask.right}  {right}"
        self._take_number()
        self.game.reveal(lambda said: not ask.missed(said, at.names), right)
        counts = ", ".join(f"{n}: {count}" for n, count in enumerate(self.game.counts(), 1))
        said = f"Answers by choice: {counts}" if counts else ""
        return [*([said] if said and self.game.teams else []), *self._ranking(SHORT)]

    def _ranking(self, most: int) -> list[str]:
        return [f"{one.rank:>3}. {one.name}  {one.points}" for one in self.game.ranking()[:most]]

    def key(self, key: str) -> bool:
        """Handle a key that the teacher pressed. Return whether it belonged to a team's answer.

        A letter chooses a team, and digits are that team's answer.
        """
        if self._serving is not None or self.game.phase is not Phase.OPEN:
            return False
        if key in self._tokens:
            self._take_number()
            self._letter = key
            return True
        if not key.isdecimal():
            self._take_number()
            return False
        if not self._letter:
            return True
        if self.game.ask is not None and self.game.ask.choices:
            self._say(int(key))
            self._letter = ""
        else:
            self._digits = (self._digits + key)[:12]
        return True

    def _take_number(self) -> None:
        """If a number was typed, take it as the team's answer."""
        if self._digits and self._letter:
            self._say(int(self._digits))
        self._letter = self._digits = ""

    def _say(self, value: int) -> None:
        try:
            self.game.answer(self._tokens[self._letter], value)
        except QuizError:
            return  # there is no such choice: the teacher must type again

"""The page that the learner reads: the step's text, the question, what has happened, and hints.

The dashboard's panel and the plain presenter show the same lines.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from kafka_edu.instruments.presenter.expectation import readable
from kafka_edu.instruments.presenter.presentation import ORDER, Missed, Phase, Presentation, happens
from kafka_edu.instruments.presenter.script import SURE, Comparison, Number, Question, Step
from kafka_edu.supervisor.act_table import ACTS


class Role(StrEnum):
    """The kind of a line on the page, which decides its colour."""

    TITLE = "title"
    NOTE = "note"
    SAY = "say"
    QUESTION = "question"
    CHOICE = "choice"
    CHOSEN = "chosen"
    EXPECTED = "expected"
    SEEN = "seen"
    PICTURE = "picture"
    """A line of a picture, with ANSI colours."""
    COMPARED = "compared"
    """A line that shows two runs side by side."""
    ANSWER = "answer"
    FAILURE = "failure"
    HINT = "hint"


class Line(NamedTuple):
    role: Role
    text: str


def page(at: Presentation) -> list[Line]:
    """Return the lines of the step that is shown."""
    return list(_lines(at))


def _lines(at: Presentation) -> Iterator[Line]:
    steps = at.script.steps
    if at.shown >= len(steps):
        yield Line(Role.TITLE, at.script.title)
        yield Line(Role.SAY, readable(at.script.end, at.names) or "This was the last step.")
        yield from _recap(at.missed(), "here")
        yield from _calibration(at)
        breaks = "[B] things to break, with the names of this cluster · "
        breaks = breaks if at.live and at.script.breaks else ""
        yield Line(Role.HINT, f"{breaks}[space] ends · [backspace] an earlier step")
        return
    step = steps[at.shown]
    yield Line(Role.TITLE, f"{at.shown + 1}/{len(steps)} · {step.title}")
    if at.looking_back:
        yield Line(Role.NOTE, _note(at))
    if at.shown == 0:
        yield from _recap(at.missed_before, "in the chapter before")
    yield Line(Role.SAY, readable(step.say, at.names))
    reached = len(ORDER) if at.looking_back else ORDER.index(at.phase)
    if step.ask is not None and reached >= ORDER.index(Phase.QUESTION):
        yield from _question(at, step.ask, reached)
    if reached >= ORDER.index(Phase.WATCHING):
        yield from _watched(at)
    if step.compare is not None and reached >= ORDER.index(Phase.WATCHING):
        yield from (Line(Role.COMPARED, line) for line in _side_by_side(at, step.compare))
    if step.ask is not None and reached >= ORDER.index(Phase.ANSWER):
        yield Line(Role.ANSWER, _answer(at, step.ask))
    yield Line(Role.HINT, _hint(at))


def _recap(missed: Sequence[Missed], where: str) -> Iterator[Line]:
    """Yield the questions that the learner answered wrong, each with its right answer."""
    if missed:
        yield Line(Role.NOTE, f"You expected something else {where}:")
    for each in missed:
        sure = f" (you were {SURE[each.sure - 1]})" if each.sure == len(SURE) else ""
        yield Line(Role.QUESTION, f"step {each.step} · {each.question}{sure}")
        yield Line(Role.SEEN, f"✓ {each.right}")


def _calibration(at: Presentation) -> Iterator[Line]:
    """Yield how often the learner was right, for each answer to "How sure are you?"."""
    said = [
        f"{SURE[sure - 1]}: {sum(right)} of {len(right)} right"
        for sure, right in at.judged().items()
    ]
    if said:
        yield Line(Role.NOTE, f"How sure you were · {' · '.join(said)}")


def in_vain(at: Presentation) -> str:
    """Return a sentence that says what the current step still waits for."""
    step = at.present
    left = [
        readable(expectation.look, at.names)
        for expectation, seen in zip(step.expectations, at.seen, strict=True)
        if not seen
    ]
    why = f" ({at.failure})" if at.failure else ""
    return f"step {at.step + 1} ('{step.title}') waited without success for: " + (
        "; ".join(left or ["its act"]) + why
    )


def _note(at: Presentation) -> str:
    if not at.live:
        return "an earlier step, at the moment of the recording when it ended"
    if at.shown not in at.moments:
        return "an earlier step; its moment is not recorded, and the cluster still runs"
    return "an earlier step: the screen shows its recorded moment, while the cluster still runs"


def _question(at: Presentation, ask: Question, reached: int) -> Iterator[Line]:
    """Yield the question and its choices. Once the answer is shown, the right choice is marked."""
    yield Line(Role.QUESTION, readable(ask.question, at.names))
    chosen = at.choices.get(at.shown)
    if ask.number is not None:
        yield from _number(at, ask.number, chosen, reached)
    right = ask.right if reached >= ORDER.index(Phase.ANSWER) else None
    for number, choice in enumerate(ask.choices, 1):
        if number == right:
            sign, role = "✓", Role.SEEN
        elif number == chosen:
            sign, role = "▶" if reached > ORDER.index(Phase.QUESTION) else " ", Role.CHOSEN
        else:
            sign, role = " ", Role.CHOICE
        yield Line(role, f"{sign} {number} {readable(choice, at.names)}")
    if at.asks_sure and at.can_choose:
        sure = " · ".join(f"{number} {words}" for number, words in enumerate(SURE, 1))
        yield Line(Role.QUESTION, f"How sure are you? {sure}")


def _number(at: Presentation, number: Number, said: int | None, reached: int) -> Iterator[Line]:
    """Yield the line with the number that the learner types. Once the answer is shown, the line
    also has the right number.
    """
    if said is not None:
        yield Line(Role.CHOSEN, f"▶ {number.words(said)}")
    elif at.can_choose:
        yield Line(Role.CHOICE, f"  {at.typed}▁ {number.unit}".rstrip())
    if reached >= ORDER.index(Phase.ANSWER):
        yield Line(Role.SEEN, f"✓ {number.words(number.value(at.names))}")


def _watched(at: Presentation) -> Iterator[Line]:
    if show := at.script.steps[at.shown].show:
        yield Line(Role.PICTURE, at.script.pictures[show].text)
    for number, expectation in enumerate(at.script.steps[at.shown].expectations):
        seen = at.looking_back or (number < len(at.seen) and at.seen[number])
        words = readable(expectation.look, at.names)
        yield Line(Role.SEEN if seen else Role.EXPECTED, f"{'✓' if seen else '○'} {words}")
    if at.instead is not None and at.your_turn and not at.looking_back:
        did = f"You did something else: {at.instead.title}. {at.instead.effect}"
        yield Line(Role.FAILURE, f"✗ {did}\nThis step asks for: {acts_in_words(at, '')}")
    if at.failure and not at.looking_back:
        yield Line(Role.FAILURE, f"✗ {at.failure}")


def _side_by_side(at: Presentation, compare: Comparison) -> Iterator[str]:
    """Yield the two runs as columns: first their labels, then a row for each compared number."""
    table = [("", *compare.labels)] + [
        (row.what, *(number.words(number.value(at.names)) for number in row.numbers))
        for row in compare.rows
    ]
    wide = [max(map(len, column)) for column in zip(*table, strict=True)]
    for what, *cells in table:
        columns = [cell.rjust(width) for cell, width in zip(cells, wide[1:], strict=True)]
        yield "  " + "   ".join([what.ljust(wide[0]), *columns])


def _answer(at: Presentation, ask: Question) -> str:
    chosen = at.choices.get(at.shown)
    if ask.number is not None:
        verdict = _verdict(ask.number, chosen, at)
    elif ask.right and chosen:
        reply = ask.replies[chosen - 1] if ask.replies else ""
        no = f"No, choice {ask.right}. " + (f"{readable(reply, at.names)}\n" if reply else "")
        verdict = no if ask.missed(chosen, at.names) else "Yes. "
    elif ask.right:
        verdict = f"Choice {ask.right}. "
    else:
        verdict = ""
    return verdict + readable(ask.answer, at.names)


def _verdict(number: Number, said: int | None, at: Presentation) -> str:
    """Return the words before the answer: whether the typed number is right, and the right
    number.
    """
    right = number.value(at.names)
    words = number.words(right)
    if said is None or right is None:
        return f"It is {words}. "
    if said == right:
        return "Yes. "
    if number.is_near(said, at.names):
        return f"Yes, near enough: {words}. "
    if number.within == 1:
        return f"No, it is {words}. "
    return f"No, it is {words}: {_times(said, right)}. "


def _times(said: int, right: int) -> str:
    """Return in words how far the typed number is from the right number."""
    if not said or not right:
        return "more than you said" if right > said else "less than you said"
    far = max(said, right) / min(said, right)
    times = f"{far:,.0f} times" if far >= 2 else f"{(far - 1) * 100:.0f} %"
    return f"{times} {'more' if right > said else 'less'} than you said"


def _hint(at: Presentation) -> str:
    back = " · [backspace] back" if at.shown else ""
    back += " · [R] this step again" if at.may_begin_again() else ""
    if at.looking_back:
        return f"[space] forward to step {at.shown + 2}{back}"
    if at.can_choose:
        ask = at.present.ask
        if at.asks_sure:
            return f"[1]…[{len(SURE)}] say how sure you are · [space] skips this{back}"
        if at.typed:
            return "[0]…[9] types · [backspace] removes a digit · [enter] answers"
        digits = f"[1]…[{len(ask.choices)}] chooses · " if ask and ask.choices else ""
        digits = "[0]…[9] types a number · " if ask and ask.number else digits
        return (
            f"{digits}[space] shows the answer{back}"
            if _answer_follows(at)
            else f"{digits}[space] {_lets(at.present)}{back}"
        )
    step = at.present
    if at.phase is Phase.NARRATION and at.live and not step.ask and step.acts and not step.hands:
        return f"[space] {acts_in_words(at)}{back}"
    if at.your_turn:
        return f"your turn: {acts_in_words(at, '')} · [space] does it for you{back}"
    if at.waits and at.failure:
        again = "tries again" if at.acts_left else "continues without it"
        return f"[space] {again}{back}"
    if at.waits:
        if at.impatient:
            return f"not seen yet: [space] again continues without it{back}"
        return f"waits until it has happened, without a time limit{back}"
    return f"[space] continues{back}"


def acts_in_words(at: Presentation, before: str = "does it: ") -> str:
    """Return in words what the space key will do to the cluster. A dangerous act is marked."""
    acts = at.present.acts if at.live else ()
    if not acts:
        return "lets it happen"
    titles = [
        ("dangerous: " if ACTS[act.name].dangerous else "")
        + ACTS[act.name].title_with(
            {key: readable(str(value), at.names) for key, value in act.values.items()}
        )
        for act in acts
    ]
    return before + "; ".join(titles)


def _lets(step: Step) -> str:
    only_shown = step.show and not (step.acts or step.expectations)
    return "shows it" if only_shown else "lets it happen"


def _answer_follows(at: Presentation) -> bool:
    return not happens(at.present)

"""Compare events and texts on the screen with the expectations of a step of the script."""

from collections.abc import Mapping

from kafka_edu.instruments.presenter.script import (
    MOMENT,
    SENDER,
    Condition,
    Expectation,
    FactFilter,
    Value,
)
from kafka_edu.trace.event import Envelope, Event, Source


def filled(words: str, names: Mapping[str, str]) -> str:
    """Put the values of bound names into a text: `{rows}` as it is, `{rows:,}` with commas.

    A name without a value stays in the text, with its braces.
    """
    return words.format_map(_Names({name: _Value(value) for name, value in names.items()}))


def readable(words: str, names: Mapping[str, str]) -> str:
    """Put the values of names into a text for a reader. A name without a value yet becomes `…`."""
    return words.format_map(_Readable({name: _Value(value) for name, value in names.items()}))


class _Value(str):
    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return f"{int(self):,}" if spec == "," and self.isdecimal() else str(self)


class _Names(dict[str, _Value]):
    def __missing__(self, name: str) -> _Value:
        return _Value("{" + name + "}")


class _Readable(_Names):
    def __missing__(self, name: str) -> _Value:
        return _Value("…")


def field_of(event: Event, path: str) -> object:
    """Return a field of an event, or None if it has no such field."""
    value: object = event
    for name in path.split("."):
        value = getattr(value, name, None)
    return value


def meets(
    expectation: Expectation | FactFilter, envelope: Envelope, names: Mapping[str, str]
) -> bool:
    """Return whether the event fits the expectation or filter: name, source, time and fields."""
    if not expectation.event or envelope.name != expectation.event:
        return False
    if expectation.source and str(envelope.source) != filled(expectation.source, names):
        return False
    if isinstance(expectation, Expectation) and not _is_after(expectation.after, envelope, names):
        return False
    return all(_holds(envelope.event, condition, names) for condition in expectation.where)


def _is_after(moment: str, envelope: Envelope, names: Mapping[str, str]) -> bool:
    """Return whether an event is not older than a bound moment. A moment is a number of ms.

    The moment may be the time of an event that ends an act, such as ProcessPaused. The expected
    event may also happen by chance shortly before the act. Such an early event does not count.
    """
    if not moment:
        return True
    return moment in names and envelope.mono_us // 1000 >= int(names[moment])


def bound_by(expectation: Expectation, envelope: Envelope) -> dict[str, str]:
    """Return the names that the expected event binds, with the values from the event."""
    return {name: _bound(envelope, field) for name, field in expectation.bind.items()}


def _bound(envelope: Envelope, field: str) -> str:
    if field == MOMENT:
        return str(envelope.mono_us // 1000)
    return _text(envelope.broker if field == SENDER else field_of(envelope.event, field))


def _holds(event: Event, condition: Condition, names: Mapping[str, str]) -> bool:
    value = field_of(event, condition.field)
    wanted = condition.value
    match condition.test:
        case "is":
            return _equal(value, wanted, names)
        case "has":
            return isinstance(value, tuple) and any(_equal(v, wanted, names) for v in value)
        case "lacks":
            known = not isinstance(wanted, str) or "{" not in filled(wanted, names)
            among = isinstance(value, tuple) and any(_equal(v, wanted, names) for v in value)
            return known and isinstance(value, tuple) and not among
        case "above":
            bound = _number(wanted, names)
            return isinstance(value, int | float) and bound is not None and value > bound
        case _:
            bound = _number(wanted, names)
            return isinstance(value, int | float) and bound is not None and value < bound


def _number(wanted: Value, names: Mapping[str, str]) -> int | None:
    """Return the number that `wanted` means: the number itself, or the value of a name in braces.

    Return None if the name has no value yet, or if its value is not a number.
    """
    if not isinstance(wanted, str):
        return wanted
    words = filled(wanted, names)
    return int(words) if words.isdecimal() else None


def _equal(value: object, wanted: Value, names: Mapping[str, str]) -> bool:
    if isinstance(wanted, str):
        return _text(value) == filled(wanted, names)
    return type(value) is type(wanted) and value == wanted


def _text(value: object) -> str:
    """Return a value as text for a reader: `broker 1`, `0,1,2`."""
    if isinstance(value, tuple) and not isinstance(value, Source):
        return ",".join(map(_text, value))
    return str(value)

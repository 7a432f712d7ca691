"""Virtual times in scenarios: `15s`, `3.412s`, `500ms`, `2min`."""

from typing import Final

_UNITS: Final = {"ms": 1, "min": 60_000, "s": 1_000}


def parse_ms(text: str) -> int:
    """Return a time in ms. Raises ValueError."""
    for unit, factor in _UNITS.items():
        number = text.removesuffix(unit)
        if number != text and number.replace(".", "", 1).isdigit():
            return round(float(number) * factor)
    raise ValueError(f"{text!r} is no time: write 15s, 3.412s, 500ms or 2min")


def show_ms(ms: int) -> str:
    """Return a time as scenarios write it."""
    return f"{ms}ms" if ms < 1_000 else f"{ms / 1_000:.3f}".rstrip("0").rstrip(".") + "s"

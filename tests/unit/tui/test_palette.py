"""Colour-blind people can distinguish the colours too, and text contrasts with its background."""

from itertools import combinations

import pytest

from tui.palette import DARK, LIGHT, THEMES, Palette

Rgb = tuple[float, float, float]
Matrix = tuple[Rgb, Rgb, Rgb]

#: What each kind of eye makes of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1.0).
EYES: dict[str, Matrix] = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
PALETTES = [pytest.param(DARK, "#0d1117", id="dark"), pytest.param(LIGHT, "#fbfbf8", id="light")]
#: A difference (CIE 1976) that is seen at a glance; 2.3 is just noticeable.
AT_A_GLANCE = 12.0
#: The contrast that WCAG 2 asks of normal text (AA).
TEXT = 4.5


def linear(colour: str) -> Rgb:
    values = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values)
    return r, g, b


def seen(colour: str, eye: Matrix) -> Rgb:
    values = linear(colour)
    r, g, b = (min(max(sum(m * v for m, v in zip(row, values, strict=True)), 0), 1) for row in eye)
    return r, g, b


def lab(rgb: Rgb) -> Rgb:
    r, g, b = rgb
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883
    fx, fy, fz = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def difference(a: Rgb, b: Rgb) -> float:
    return sum((x - y) ** 2 for x, y in zip(lab(a), lab(b), strict=True)) ** 0.5


def contrast(a: str, b: str) -> float:
    bright, dark = sorted(
        (0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (linear(a), linear(b))), reverse=True
    )
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize(("palette", "ground"), PALETTES)
def test_five_brokers_can_be_told_apart(palette: Palette, ground: str, eye: str) -> None:
    for a, b in combinations(palette.brokers[:5], 2):
        found = difference(seen(a, EYES[eye]), seen(b, EYES[eye]))
        assert found >= AT_A_GLANCE, (a, b, round(found, 1))


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize(("palette", "ground"), PALETTES)
def test_good_and_bad_can_be_told_apart(palette: Palette, ground: str, eye: str) -> None:
    found = difference(seen(palette.ok, EYES[eye]), seen(palette.error, EYES[eye]))
    assert found >= AT_A_GLANCE, round(found, 1)


@pytest.mark.parametrize(("palette", "ground"), PALETTES)
def test_text_stands_out(palette: Palette, ground: str) -> None:
    assert contrast(palette.text, ground) >= 7
    for colour in (palette.dim, palette.ok, palette.warning, palette.error, *palette.brokers[:5]):
        assert contrast(colour, ground) >= TEXT, colour
    for below in (palette.glow, palette.cursor):
        for colour in (palette.text, palette.dim, palette.ok, palette.warning, palette.error):
            assert contrast(colour, below) >= TEXT, (colour, below)
        for colour in palette.brokers:
            assert contrast(colour, below) >= TEXT, (colour, below)


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=["dark", "light"])
def test_quiet_text_that_has_just_changed_can_be_read(palette: Palette) -> None:
    assert palette.quiet(False) == palette.dim
    colour, _, ground = palette.quiet(True).partition(" on ")
    assert ground == palette.glow
    assert contrast(colour, ground) >= TEXT


def test_the_grounds_are_those_of_the_themes() -> None:
    assert [theme.background for theme in THEMES] == ["#0d1117", "#fbfbf8"]

"""Write the report of a pipeline as one HTML file, which needs no network and no other file."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

from kafka_edu.cli.report import HEADINGS, Ending

_STYLE: Final = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; color: #1f2328; background: #fff;
  max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.verdict { padding: .6rem .9rem; border-radius: .4rem; font-weight: 600; }
.right { background: #dafbe1; border: 1px solid #1a7f37; }
.wrong { background: #ffebe9; border: 1px solid #cf222e; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #d0d7de; text-align: right; }
th:first-child, td:first-child { text-align: left; }
tr.differs { background: #ffebe9; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 1rem 0; }
dt { color: #57606a; } dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 0 0 1.5rem; } figure svg { width: 100%; max-width: 46rem;
  height: auto; display: block; }
figcaption { color: #57606a; font-size: .9rem; }
p { margin: .5rem 0; }
@media (max-width: 30rem) {
  table { font-size: .85rem; } th, td { padding: .2rem .3rem; }
  td:first-child { min-width: 8rem; }
}
"""


class Row(NamedTuple):
    """One result of the pipeline next to the true value."""

    name: str
    truth: int
    found: int
    differences: int


class Figure(NamedTuple):
    """One plot: its title, a sentence that says what it shows, and its SVG element."""

    title: str
    caption: str
    svg: str


class Page(NamedTuple):
    """The content of the report."""

    title: str
    facts: Mapping[str, str]
    rows: Sequence[Row]
    bad_by_reason: Mapping[str, int]
    figures: Sequence[Figure]
    ending: Ending


def html_page(page: Page) -> str:
    """Return the report as HTML. Texts are escaped. The SVG of a figure is inserted unchanged."""
    wrong = [row for row in page.rows if row.differences]
    verdict = (
        f"{len(wrong)} of {len(page.rows)} answers differ from the truth."
        if wrong
        else f"All {len(page.rows)} answers equal the truth."
    )
    facts = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in page.facts.items()
    )
    parts = [
        f"<h1>{escape(page.title)}</h1>",
        f'<p class="verdict {"wrong" if wrong else "right"}">{verdict}</p>',
        f"<dl>{facts}</dl>",
        "<h2>The answers compared with the truth</h2>",
        _table(
            ("", "truth", "pipeline", "differ"),
            [
                ((row.name, row.truth, row.found, row.differences), bool(row.differences))
                for row in page.rows
            ],
        ),
    ]
    for figure in page.figures:
        parts += [
            f"<h2>{escape(figure.title)}</h2>",
            f"<figure>{figure.svg}<figcaption>{escape(figure.caption)}</figcaption></figure>",
        ]
    if page.bad_by_reason:
        parts += [
            "<h2>Lines in quarantine</h2>",
            _table(
                ("reason", "lines"),
                [((reason, lines), False) for reason, lines in page.bad_by_reason.items()],
            ),
        ]
    for heading, text in zip(HEADINGS, page.ending, strict=True):
        parts += [f"<h2>{escape(heading)}</h2>", f"<p>{escape(text)}</p>"]
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(page.title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _table(head: Sequence[str], rows: Sequence[tuple[Sequence[str | int], bool]]) -> str:
    """Return an HTML table. On a narrow screen it scrolls sideways without the rest of the page."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = [
        f"<tr{' class=differs' if differs else ''}>"
        + "".join(
            f"<td>{escape(f'{value:,}' if isinstance(value, int) else value)}</td>"
            for value in values
        )
        + "</tr>"
        for values, differs in rows
    ]
    return (
        f'<div class="scroll"><table>\n<tr>{cells}</tr>\n' + "\n".join(lines) + "\n</table></div>"
    )

"""The HTML report of a pipeline: it has all values, its texts are escaped, and it needs no
network.
"""

import re
from html.parser import HTMLParser

from kafka_edu.cli.pipeline.html_report import Figure, Page, Row, html_page
from kafka_edu.cli.report import Ending

PAGE = Page(
    title="Pipeline of the topic a<b>&c",
    facts={"master": "local[*]", "results": "/tmp/<script>alert(1)</script>"},
    rows=[Row("lines", 200_000, 200_000, 0), Row("windows: exact p99", 83, 82, 1)],
    bad_by_reason={"bad time": 1234, 'no "quote"': 1},
    figures=[Figure("p99 & more", "a < b", '<svg id="p99-figure"></svg>')],
    ending=Ending("It <ran>.", "Because.", "Look & see."),
)


class Reader(HTMLParser):
    """Collects text and the stack of open elements."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.open: list[str] = []
        self.attributes: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def test_values_are_in_it() -> None:
    text = read(html_page(PAGE)).text
    for wanted in ("200,000", "windows: exact p99", "83", "82", "1,234", "local[*]", "Because."):
        assert wanted in text
    assert "1 of 2 answers differ from the truth." in text
    assert "What to look at next" in text


def test_texts_are_escaped_and_figures_are_not() -> None:
    html = html_page(PAGE)
    assert "<script>" not in html
    assert "a<b>" not in html
    assert '<svg id="p99-figure"></svg>' in html
    text = read(html).text
    for wanted in ("Pipeline of the topic a<b>&c", "It <ran>.", 'no "quote"', "a < b"):
        assert wanted in text


def test_the_verdict_when_all_is_right() -> None:
    html = html_page(PAGE._replace(rows=PAGE.rows[:1]))
    assert "All 1 answers equal the truth." in html
    assert "class=differs" not in html


def test_it_needs_no_network() -> None:
    html = html_page(PAGE)
    assert not [one for one in read(html).attributes if one and not one.startswith("#")]
    assert not re.search(r"url\(\s*['\"]?(?!#)|@import|https?://", html)

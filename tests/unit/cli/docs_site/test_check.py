"""The finished site is searched for links that lead nowhere and for what needs a network."""

from pathlib import Path

import pytest

from kafka_edu.cli.docs_site.check import broken_links


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="other.html#时间轮">x</a>', ""),
        ('<a href="other.html#%E6%97%B6%E9%97%B4%E8%BD%AE">x</a>', ""),
        ('<h2 id="here"></h2><a href="#here">x</a>', ""),
        ('<a href="https://kafka.apache.org/">x</a>', ""),
        ('<a href="other.html#gone">x</a>', "the page has no such anchor"),
        ('<a href="#gone">x</a>', "the page has no such anchor"),
        ('<a href="gone.html">x</a>', "there is no such file"),
        ('<a href="folder">x</a>', "there is no such file"),
        ('<img src="gone.svg">', "there is no such file"),
        ('<script src="https://unpkg.com/x"></script>', "it is fetched from another host"),
        ('<link rel="stylesheet" href="//fonts.com/x.css">', "it is fetched from another host"),
        ('<a href="javascript:alert(1)">x</a>', "a kind of address that is not known"),
    ],
)
def test_links(tmp_path: Path, body: str, problem: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "other.html").write_text('<h2 id="时间轮"></h2>', encoding="utf-8")
    (tmp_path / "index.html").write_text(body, encoding="utf-8")
    found = broken_links(tmp_path)
    assert [line.rpartition(": ")[2] for line in found] == [problem] * bool(problem)
    assert all(line.startswith("index.html links to ") for line in found)

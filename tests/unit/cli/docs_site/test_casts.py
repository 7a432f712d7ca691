"""The films in the chapters' pages: their place in the page, the links to them, and the recordings
they are made from.
"""

from pathlib import Path

import pytest

from kafka_edu.cli.docs_site import casts
from kafka_edu.cli.docs_site.casts import CastError, Film, film_of, stage_films, with_film
from kafka_edu.cli.docs_site.links import rewrite
from kafka_edu.cli.docs_site.tree import Tree

PAGE = "chapters/ch05_election/README.md"
TEXT = """# 05 Elects

It took **6.5 s**<!-- range: heir_at-killed_at 5000..60000 --> in epoch **1**<!-- exact: first -->.

## Predict, run and watch

Run it.
"""
PART = "chapters/ch05_election/choir.md"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    folder = tmp_path / "chapters" / "ch05_election"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text(TEXT, encoding="utf-8")
    (folder / "choir.md").write_text("# A part\n\nRead.\n\n### It sings\n\nLa.\n", encoding="utf-8")
    (folder / "teacher.md").write_text("# Teacher\n", encoding="utf-8")
    (folder / "recording.jsonl.gz").write_bytes(b"one")
    (folder / "choir.jsonl.gz").write_bytes(b"two")
    return Tree(tmp_path)


def test_a_page_with_a_recording_has_a_film(tree: Tree) -> None:
    assert film_of(tree, PAGE) == Film(PAGE, "05", "")
    assert film_of(tree, PART) == Film(PART, "05", "choir")
    assert film_of(tree, "chapters/ch05_election/teacher.md") is None
    assert film_of(tree, "docs/labs.md") is None


def test_the_film_stands_below_its_heading_and_numbers_lead_to_their_moments(tree: Tree) -> None:
    text = rewrite(tree, PAGE).text
    before, _, after = text.partition("## Predict, run and watch")
    assert 'id="film-05"' in after
    assert 'data-source="../../assets/casts/05.js"' in after
    assert after.index("film-05") < after.index("Run it.")
    assert '**6.5 s**<a class="moment" data-name="heir_at" href="#film-05"' in before
    assert '**1**<a class="moment" data-name="first" href="#film-05"' in before
    assert "<!--" not in text


def test_the_film_of_a_part_stands_before_its_first_section() -> None:
    film = Film(PART, "05", "choir")
    text = with_film("# A part\n\nRead.\n\n### It sings\n", film)
    assert text.index("Read.") < text.index("film-05-choir") < text.index("### It sings")


def test_each_film_is_made_once_for_what_it_is_made_from(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path / "home"))
    pytest.importorskip(casts.PLAYER, reason="the packages of 'docs' are not installed")
    made: list[list[str]] = []

    class Done:
        returncode, stdout, stderr = 0, "", ""

    def run(command: list[str], **_: object) -> Done:
        made.append(command)
        Path(command[-1]).write_text('{"moments": {}}\n</script>', encoding="utf-8")
        return Done()

    monkeypatch.setattr(casts.subprocess, "run", run)
    films = [Film(PAGE, "05", ""), Film(PART, "05", "choir")]
    for _ in range(2):
        stage_films(tree, films, tmp_path / "pages")
    words = sorted(
        " ".join(command).partition(" chapter ")[2].partition(" --cast")[0] for command in made
    )
    assert words == ["05", "05 --part choir"]
    script = (tmp_path / "pages" / "assets" / "casts" / "05.js").read_text(encoding="utf-8")
    assert script.startswith('(window.kafkaEduFilms ??= {})["05"] = "{')
    (tree.root / "chapters" / "ch05_election" / "recording.jsonl.gz").write_bytes(b"three")
    stage_films(tree, films[:1], tmp_path / "pages")
    assert len(made) == 3, "another recording gives another film"


def test_a_film_that_cannot_be_made_says_why(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path / "home"))
    pytest.importorskip(casts.PLAYER, reason="the packages of 'docs' are not installed")

    class Done:
        returncode, stdout, stderr = 1, "", "Error: there is no chapter '05'"

    monkeypatch.setattr(casts.subprocess, "run", lambda *_, **__: Done())
    with pytest.raises(CastError, match="chapter 05: Error: there is no chapter '05'"):
        stage_films(tree, [Film(PAGE, "05", "")], tmp_path / "pages")

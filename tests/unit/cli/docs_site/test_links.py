"""Pages of the checkout become pages of the site: links, file names, figures, fences, comments."""

from pathlib import Path

import pytest

from kafka_edu.cli.docs_site.links import rewrite
from kafka_edu.cli.docs_site.staging import BrokenLinksError, navigation, stage
from kafka_edu.cli.docs_site.tree import Tree

PAGE = "chapters/ch02_wheel/README.md"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Return a small checkout with one chapter, one module, one figure and one exercise."""
    files = {
        "README.md": "# Small\n",
        "docs/index.md": "# Index\n\n## To learn\n\n- [course](course.md)\n- [words](words.md)\n\n"
        "## Inside\n\n- [wire](wire.md)\n",
        "docs/course.md": "# The course\n",
        "docs/labs.md": "# Labs\n",
        "docs/words.md": "# Words\n",
        "docs/wire.md": "# The wire\n",
        "docs/extra/deep.md": "# Deep\n",
        "requirements/docs.txt": "mkdocs-material==9\n",
        PAGE: "# 02 The wheel\n",
        "chapters/ch02_wheel/teacher.md": "# Teacher's page\n",
        "chapters/ch02_wheel/figures/one.svg": "<svg/>",
        "kafka_edu/timer/wheel.py": "X = 1\n\n\nclass Wheel:\n    def add(self) -> None: ...\n",
        "exercises/manifest.toml": '[[exercise]]\nid = "02-1"\ntitle = "Write add"\n'
        'folder = "ch02_wheel/ex01_add"\n',
        "exercises/ch02_wheel/ex01_add/README.md": "# Write add\n",
        "exercises/solutions/ex01.py": "ANSWER = 1\n",
        "exercises/ch02_wheel/ex01_add/hidden_tests.py": "def test(): ...\n",
        "lab/02-1/wheel.py": "MINE = 1\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "docs" / "recording.gz").write_bytes(b"\x1f\x8b\xff")
    return Tree(tmp_path)


def rewritten(tree: Tree, text: str) -> str:
    """Write this text as a chapter's page, and return the page of the site. No link in it may be
    broken.
    """
    (tree.root / PAGE).write_text(text, encoding="utf-8")
    result = rewrite(tree, PAGE)
    assert result.problems == []
    return result.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[wire](../../docs/wire.md#fetch)", "[wire](../../docs/wire.md#fetch)"),
        ("[the\nwire](../../docs/wire.md)", "[the\nwire](../../docs/wire.md)"),
        ("[here](#break) [out](https://kafka.apache.org/)",) * 2,
        (
            "[the wheel](../../kafka_edu/timer/wheel.py#L4)",
            "[the wheel](../../source/kafka_edu/timer/wheel.py.md#L4)",
        ),
        (
            "Read `kafka_edu/timer/wheel.py`.",
            "Read [`kafka_edu/timer/wheel.py`](../../source/kafka_edu/timer/wheel.py.md).",
        ),
        (
            "1. `kafka_edu/timer/wheel.py`: `Wheel.add`",
            "1. [`kafka_edu/timer/wheel.py`](../../source/kafka_edu/timer/wheel.py.md): "
            "[`Wheel.add`](../../source/kafka_edu/timer/wheel.py.md#L5)",
        ),
        (
            "[see `kafka_edu/timer/wheel.py`](../../docs/wire.md)",
            "[see `kafka_edu/timer/wheel.py`](../../docs/wire.md)",
        ),
        ("![One](figures/one.svg)", "[![One](figures/one.svg)](figures/one.svg)"),
        (
            "[![One](figures/one.svg)](../../docs/wire.md)",
            "[![One](figures/one.svg)](../../docs/wire.md)",
        ),
        ("`lab/02-1/wheel.py`, `exercises/solutions/ex01.py`, `a/b.py`, `wheel.py`",) * 2,
        ("``[x](gone.md)`` and `[x](gone.md)`",) * 2,
        ("    [x](gone.md) in indented code\n",) * 2,
        ("# `kafka_edu/timer/wheel.py` in a heading\n",) * 2,
        (
            "slot **10**<!-- exact: slot_8 -->, and\n<!-- begin\nof a table -->\n| a |\n",
            "slot **10**, and\n| a |\n",
        ),
    ],
)
def test_text(tree: Tree, text: str, expected: str) -> None:
    assert rewritten(tree, text).rstrip("\n") == expected.rstrip("\n")


def test_fences_keep_their_code_and_lose_the_words_for_ci(tree: Tree) -> None:
    text = "```sh no-check: takes long\n# a comment [x](gone.md)\n```\n\n```\n<!-- shown -->\n```\n"
    assert rewritten(tree, text) == text.replace("sh no-check: takes long", "sh")


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("gone.md", "which does not exist or is not shown"),
        ("../../../etc/passwd", "which does not exist or is not shown"),
        ("../../exercises/solutions/ex01.py", "which does not exist or is not shown"),
        ("../../lab/02-1/wheel.py", "which does not exist or is not shown"),
        (
            "../../exercises/ch02_wheel/ex01_add/hidden_tests.py",
            "which does not exist or is not shown",
        ),
        ("../../docs", "which does not exist or is not shown"),
        ("../../docs/recording.gz", "which is not a text of at most 300 kB"),
    ],
)
def test_a_link_that_leads_nowhere_is_named_with_its_page(tree: Tree, link: str, why: str) -> None:
    (tree.root / PAGE).write_text(f"See [it]({link}).\n", encoding="utf-8")
    assert rewrite(tree, PAGE).problems == [f"{PAGE} links to {link}, {why}"]
    with pytest.raises(BrokenLinksError, match=r"README\.md links to"):
        stage(tree, tree.root / "staged")


def test_a_students_copy_lacks_files_so_their_links_are_plain_text(tree: Tree) -> None:
    (tree.root / "exercises/solutions/ex01.py").unlink()
    (tree.root / "exercises/solutions").rmdir()
    text = "[How to](../../CONTRIBUTING.md) and [the wire](../../docs/wire.md)\n"
    assert rewritten(tree, text) == "How to and [the wire](../../docs/wire.md)\n"


def test_a_picture_of_another_host_is_refused(tree: Tree) -> None:
    (tree.root / PAGE).write_text("![x](https://example.org/x.svg)\n", encoding="utf-8")
    assert "needs a network" in rewrite(tree, PAGE).problems[0]


def test_staging_holds_what_is_linked_and_no_more(tree: Tree) -> None:
    (tree.root / PAGE).write_text(
        "# 02 The wheel\n\n![One](figures/one.svg) `kafka_edu/timer/wheel.py`"
        " [deep](../../docs/extra/deep.md)\n",
        encoding="utf-8",
    )
    folder = tree.root / "staged"
    first = stage(tree, folder)
    staged = {
        path.relative_to(folder / "pages").as_posix()
        for path in (folder / "pages").rglob("*")
        if path.is_file()
    }
    assert {
        "chapters/ch02_wheel/figures/one.svg",
        "source/kafka_edu/timer/wheel.py.md",
        "docs/extra/deep.md",
        "assets/search.js",
    } < staged
    assert not [name for name in staged if "solutions" in name or "lab/" in name]
    source = (folder / "pages/source/kafka_edu/timer/wheel.py.md").read_text(encoding="utf-8")
    assert 'id="L5"' in source
    assert "exclude: true" in source  # from the search
    assert stage(tree, tree.root / "again") == first
    (tree.root / "kafka_edu/timer/wheel.py").write_text("X = 2\n", encoding="utf-8")
    assert stage(tree, tree.root / "changed") != first


def test_the_navigation_has_each_page_once(tree: Tree) -> None:
    pages = {*tree.pages(), "docs/extra/deep.md"}
    assert navigation(tree, pages) == [
        {"Start": "README.md"},
        {
            "Course": [
                "docs/course.md",
                {"02 The wheel": [PAGE, "chapters/ch02_wheel/teacher.md"]},
                {
                    "Labs": [
                        "docs/labs.md",
                        {"02-1 Write add": "exercises/ch02_wheel/ex01_add/exercise.md"},
                    ]
                },
                "docs/words.md",
            ]
        },
        {"Inside": ["docs/wire.md"]},
        {"All pages": ["docs/index.md", "docs/extra/deep.md"]},
    ]


@pytest.mark.source
def test_every_page_of_this_checkout_links_to_what_is_there(tmp_path: Path) -> None:
    stage(Tree(Path(__file__).resolve().parents[4]), tmp_path)  # raises BrokenLinksError
    wheel = tmp_path / "pages/source/kafka_edu/timer/timing_wheel.py.md"
    assert "class" in wheel.read_text(encoding="utf-8")

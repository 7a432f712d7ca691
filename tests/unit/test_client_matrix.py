"""The README's table of clients: it agrees with the tests' results, and has every client of
tests/interop.
"""

from pathlib import Path

from tests.interop.matrix import ABILITIES, BEGIN, COMMITTED, END, load, merged, rewritten, table

ROOT = Path(__file__).parents[2]


def test_the_readme_says_what_the_tests_showed() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert rewritten(text, load(COMMITTED)) == text, "python -m tests.interop.matrix README.md"


def test_every_client_showed_every_ability() -> None:
    for client, row in load(COMMITTED).items():
        assert list(row) == list(ABILITIES), client


def test_new_results_take_the_place_of_old_ones() -> None:
    old = {"b": {"produce": "no", "consume": "yes"}, "c": {"lz4": "yes"}}
    results = merged(old, {"A": {"zstd": "–", "gzip": "yes"}, "b": {"produce": "yes"}})
    assert list(results) == ["A", "b", "c"]
    assert results["b"] == {"produce": "yes", "consume": "yes"}
    assert list(results["A"]) == ["gzip", "zstd"]
    page = rewritten(f"before\n{BEGIN}\nold\n{END}\nafter\n", results)
    assert page == f"before\n{BEGIN}\n{table(results)}\n{END}\nafter\n"
    assert "| A | ? | ? | ? | ? | ? | yes | ? | ? | – |" in page

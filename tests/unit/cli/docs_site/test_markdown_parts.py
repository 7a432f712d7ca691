"""Lists are indented as MkDocs reads them, and code is distinguished from prose."""

import pytest

from kafka_edu.cli.docs_site.markdown_parts import parts_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Two:\n- one\n- two\n", "Two:\n\n- one\n- two\n"),
        ("- one\n  goes on\n- two\n", "- one\n    goes on\n- two\n"),
        ("- one\nlazily goes on\n- two\n", "- one\n    lazily goes on\n- two\n"),
        ("* a\n  * b\n    * c\n  * d\n* e\n", "* a\n    * b\n        * c\n    * d\n* e\n"),
        ("1. one\n\n   more\n2. two\n", "1. one\n\n    more\n2. two\n"),
        ("- one\n\nA paragraph.\n", "- one\n\nA paragraph.\n"),
        ("- one\n\n      code\n", "- one\n\n        code\n"),
        (
            "- one\n  ```sh long\n  ls\n    -l\n  ```\n",
            "- one\n    ```sh\n    ls\n      -l\n    ```\n",
        ),
        ("- one\n# Heading\n- two\n", "- one\n# Heading\n\n- two\n"),
        ("```\n- one\n  two\n\n````\n- one\n", "```\n- one\n  two\n\n````\n\n- one\n"),
    ],
)
def test_indentation(text: str, expected: str) -> None:
    assert "".join(part for _, part in parts_of(text)) == expected


def test_code_is_told_from_prose() -> None:
    text = (
        "# One\nprose\n    prose that goes on\n\n    code\n\n    more\n\n~~~py x\n```\n~~~\nend\n"
    )
    assert list(parts_of(text)) == [
        (True, "# One\n"),
        (False, "prose\nprose that goes on\n\n"),
        (True, "    code\n\n    more\n\n~~~py\n```\n~~~\n"),
        (False, "end\n"),
    ]

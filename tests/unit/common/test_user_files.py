"""A StateFile is a convenience: a command works without it, and with a broken one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_edu.common.user_files import StateFile


def step(fields: Mapping[str, Any]) -> int:
    return int(fields["step"])


def test_what_was_saved_is_loaded_until_it_is_forgotten(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "presenter" / "place.json")
    assert file.load(step) is None
    file.save({"step": 3})
    assert file.load(step) == 3
    assert file.path.stat().st_mode & 0o077 == 0, "other users may read it"
    file.forget()
    file.forget()
    assert file.load(step) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"step": "three"}', '{"step": []}'])
def test_a_broken_file_is_like_no_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "place.json"
    path.write_text(text, encoding="utf-8")
    assert StateFile(path).load(step) is None


def test_a_folder_that_cannot_be_made_loses_only_the_file(tmp_path: Path) -> None:
    (tmp_path / "presenter").write_text("a file", encoding="utf-8")
    file = StateFile(tmp_path / "presenter" / "place.json")
    file.save({"step": 3})
    file.forget()
    assert file.load(step) is None

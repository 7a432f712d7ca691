"""The process of a chapter's jobs says why it has ended."""

from pathlib import Path

import pytest

from tests.waiting import wait_for
from tui.presenter.job_process import JobProcess


def test_a_process_that_ends_by_itself_tells_its_last_line_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path))
    jobs = JobProcess("none", ("chapter", "77", "--jobs"))
    assert jobs.failure() == "", "it was never started"
    jobs.open()
    assert "there is no chapter '77'" in wait_for(jobs.failure, "the end of the process")
    assert jobs.failure() == ""
    jobs.close()

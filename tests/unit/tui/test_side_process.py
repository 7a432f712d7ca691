"""A process that the dashboard starts: it ends with its input, and its last line says why."""

from tests.waiting import wait_for
from tui.side_process import SideProcess


def test_the_last_line_of_a_process_that_has_failed_is_the_reason() -> None:
    process = SideProcess("kafka_edu", "sim", "run", "there-is-no-such-scenario")
    wait_for(lambda: not process.running, "its end")
    assert "there-is-no-such-scenario" in process.failure()
    assert "\n" not in process.failure()
    process.end()


def test_a_process_ends_with_its_input_and_that_is_no_failure() -> None:
    process = SideProcess("code", "-q")  # it reads lines until its input ends
    assert process.failure() == ""
    process.end()
    assert not process.running
    assert process.failure() == ""

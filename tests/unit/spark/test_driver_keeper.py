"""Who gets the warm JVM (a JVM that stays ready for Spark's labs), and when it is cleaned, replaced
and ended.
"""

import pytest

from kafka_edu.spark.driver_keeper import (
    BUSY,
    ENDING,
    IDLE_S,
    MOST_LOANS,
    NOT_CLEAN,
    Clean,
    DriverKeeper,
    End,
    Kill,
    Lend,
    Refuse,
    Start,
    State,
    idle_of,
)


def lent(user: int = 1) -> DriverKeeper:
    """A keeper whose JVM was lent to a user."""
    keeper = DriverKeeper(0.0, idle_s=600.0)
    assert keeper.ask(user, 0.0) == [Start()]
    assert keeper.started() == [Clean()]
    assert keeper.cleaned(True, 0.0) == [Lend(user)]
    return keeper


def free() -> DriverKeeper:
    """A keeper whose JVM came back at 10 s."""
    keeper = lent()
    assert keeper.leave(1, 10.0) == [Clean()]
    assert keeper.cleaned(True, 10.0) == []
    return keeper


def test_the_jvm_stays_and_is_cleaned_before_and_after_each_user() -> None:
    keeper = free()
    assert keeper.state is State.FREE
    assert keeper.ask(2, 11.0) == [Clean()]
    assert keeper.cleaned(True, 11.0) == [Lend(2)]
    assert (keeper.jvms, keeper.loans) == (1, 2)


def test_one_user_at_a_time() -> None:
    keeper = lent()
    assert keeper.ask(2, 1.0) == [Refuse(2, BUSY)]
    assert keeper.leave(2, 1.0) == [], "the first user still has it"
    assert keeper.state is State.LENT


def test_the_next_user_waits_for_the_cleaning() -> None:
    keeper = lent()
    keeper.leave(1, 1.0)
    assert keeper.ask(2, 1.0) == []
    assert keeper.ask(3, 1.0) == [Refuse(3, BUSY)]
    assert keeper.cleaned(True, 2.0) == [Lend(2)]


def test_a_jvm_that_cannot_be_cleaned_is_replaced() -> None:
    keeper = free()
    keeper.ask(2, 11.0)
    assert keeper.cleaned(False, 12.0) == [Kill(), Start()]
    assert keeper.started() == [Clean()]
    assert keeper.cleaned(True, 13.0) == [Lend(2)]
    assert (keeper.jvms, keeper.loans) == (2, 1)


def test_a_new_jvm_that_cannot_be_cleaned_is_not_replaced_again_and_again() -> None:
    keeper = DriverKeeper(0.0)
    keeper.ask(1, 0.0)
    keeper.started()
    assert keeper.cleaned(False, 1.0) == [Kill(), Refuse(1, NOT_CLEAN)]
    assert keeper.state is State.NONE
    assert keeper.leave(1, 1.0) == []
    assert keeper.ask(2, 2.0) == [Start()], "the next user tries again"
    keeper.leave(2, 2.0)
    keeper.started()
    assert keeper.cleaned(False, 3.0) == [Kill()], "nobody waits"


def test_a_user_brings_the_idle_time() -> None:
    keeper = DriverKeeper(0.0, idle_s=600.0)
    keeper.ask(1, 0.0, 5.0)
    keeper.failed("no Java")
    keeper.leave(1, 0.0)
    assert keeper.tick(4.0) == []
    assert keeper.tick(5.0) == [End()]


def test_the_idle_time_is_a_number_of_seconds() -> None:
    assert idle_of("") == IDLE_S
    assert (idle_of("0"), idle_of("2.5")) == (0.0, 2.5)
    for wrong in ("10m", "nan", "inf", "-inf"):
        with pytest.raises(ValueError, match=f"KAFKA_EDU_SPARK_IDLE_S is '{wrong}'.*set it to"):
            idle_of(wrong)


def test_nobody_waits_so_no_other_jvm_is_started() -> None:
    keeper = lent()
    keeper.leave(1, 1.0)
    assert keeper.cleaned(False, 2.0) == [Kill()]
    assert keeper.state is State.NONE


def test_a_job_has_ended_the_jvm() -> None:
    keeper = lent()
    assert keeper.ended() == []
    assert keeper.ask(2, 1.0) == [Refuse(2, BUSY)], "the first user is still there"
    assert keeper.leave(1, 1.0) == []
    assert keeper.ask(2, 1.0) == [Start()]


def test_a_jvm_that_ends_while_it_is_free() -> None:
    keeper = free()
    keeper.ended()
    assert keeper.ask(2, 11.0) == [Start()]


def test_the_end_of_a_jvm_in_a_cleaning_is_handled_by_the_cleaning() -> None:
    keeper = lent()
    keeper.leave(1, 1.0)
    assert keeper.ended() == []
    assert keeper.cleaned(False, 1.0) == [Kill()]


def test_a_jvm_that_does_not_start() -> None:
    keeper = DriverKeeper(0.0)
    keeper.ask(1, 0.0)
    assert keeper.failed("no Java") == [Refuse(1, "no Java")]
    assert keeper.leave(1, 0.0) == []
    assert keeper.ask(2, 1.0) == [Start()], "the next user tries again"


def test_a_user_who_leaves_before_the_jvm_is_there() -> None:
    keeper = DriverKeeper(0.0)
    keeper.ask(1, 0.0)
    keeper.leave(1, 0.0)
    keeper.started()
    assert keeper.cleaned(True, 5.0) == []
    assert keeper.state is State.FREE


def test_a_jvm_is_replaced_after_many_users() -> None:
    keeper = lent()
    for user in range(2, MOST_LOANS + 1):
        assert keeper.leave(user - 1, 1.0) == [Clean()]
        keeper.ask(user, 1.0)
        assert keeper.cleaned(True, 1.0) == [Lend(user)]
    assert keeper.leave(MOST_LOANS, 1.0) == [Kill()]


def test_it_ends_when_nobody_has_used_it_for_a_time() -> None:
    keeper = free()
    assert keeper.tick(609.0) == []
    assert keeper.tick(610.0) == [End()]
    assert lent().tick(10_000.0) == [], "a user has it"
    assert DriverKeeper(5.0, idle_s=2.0).tick(7.0) == [End()], "it may never have had a user"


def test_it_ends_at_once_or_when_its_user_leaves() -> None:
    assert free().end() == [End()]
    keeper = lent()
    assert keeper.end() == []
    assert keeper.ask(2, 1.0) == [Refuse(2, ENDING)]
    assert keeper.leave(2, 1.0) == []
    assert keeper.leave(1, 1.0) == [End()]


def test_a_state_is_entered_only_from_the_states_of_the_table() -> None:
    with pytest.raises(ValueError, match="the JVM is free, and cannot become free"):
        free().cleaned(True, 0.0)

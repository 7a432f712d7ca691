"""The listeners of a broker whose settings say nothing else."""

from kafka_edu.server.config.listener_settings import CONTROL_PLANE_KEY, listener_settings

ONE = {"listeners": "PLAINTEXT://127.0.0.1:9092"}


def test_one_for_all_and_one_more_for_the_controller():
    assert listener_settings("127.0.0.1", 9092, {}) == ONE
    assert listener_settings("127.0.0.1", 9092, {CONTROL_PLANE_KEY: "CONTROL"}) == {
        "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROL://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROL:PLAINTEXT",
    }


def test_the_one_for_all_is_not_opened_twice():
    """The broker itself says what is wrong with that name."""
    assert listener_settings("127.0.0.1", 9092, {CONTROL_PLANE_KEY: "PLAINTEXT"}) == ONE

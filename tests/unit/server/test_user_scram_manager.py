from kafka_edu.server.admin.user_scram_manager import (
    ScramMechanism,
    ScramUpsertion,
    stored_credential,
)
from kafka_edu.server.config.entity_configs import desanitized, sanitized


def test_what_is_stored_is_what_apache_kafka_stores() -> None:
    """The expected text was read from ZooKeeper after Apache Kafka 2.8.2 got the same request."""
    salted = b"p"
    assert (
        stored_credential(ScramMechanism.SCRAM_SHA_256, ScramUpsertion("al", 1, 4096, b"s", salted))
        == "salt=cw==,stored_key=48dpIHFaLfSa7IDPFfRzxqJBTome0/BJoy2ca/E6/8c=,server_key=WgmjNcSkIpU/J7TP2JIkr7XJfyoHcIvwk7aHUIT8KxA=,iterations=4096"  # noqa: E501
    )
    assert (
        stored_credential(ScramMechanism.SCRAM_SHA_512, ScramUpsertion("al", 2, 4096, b"s", salted))
        == "salt=cw==,stored_key=oYmABZHz7FYGqGT4mvOyrKt/4PfFUiGPjtwqS/WBGvCfyWYqFmp9wK23IxK5zhjh7tSgMWiPn7ROIJ+lnDZXdQ==,"  # noqa: E501
        "server_key=oTarToFALQwArFywSwrSam2mwPo1LPFB0Oa4Q/0a1DnhYiHlnHdKOIEc8CM7TVfiwHItDGF6ouhBJ8x05hW41w==,iterations=4096"
    )


def test_names_are_encoded_as_java_encodes_them() -> None:
    assert sanitized("a b%*~._-ü/") == "a%20b%25%2A%7E._-%C3%BC%2F"
    assert desanitized(sanitized("a b%*~._-ü/")) == "a b%*~._-ü/"

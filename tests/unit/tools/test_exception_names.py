"""The tools name exceptions as Kafka's clients do, for every error code."""

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.tools.exception_names import exception_name
from kafka_edu.tools.tool import ToolError, java_class, text_of
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode
from tests.golden.errors.record import recorded

OLD, NEW = recorded("2.0.1", "kafka"), recorded("2.8.2", "kafka")
EXCEPTIONS = [error for error in Errors if error is not Errors.NONE]


@pytest.mark.parametrize("error", EXCEPTIONS, ids=lambda error: error.name)
def test_an_error_has_the_class_of_2_0_1_or_else_of_2_8_2(error: Errors) -> None:
    _, expected = OLD.get(int(error)) or NEW[int(error)]
    assert exception_name(error) == expected


def test_the_recorded_list_has_all_our_codes_and_no_others() -> None:
    assert {int(error): error.name for error in EXCEPTIONS} == {
        code: name for code, (name, _) in NEW.items()
    }


def test_a_failed_disk_is_a_storage_exception() -> None:
    failed = KafkaException(Errors.KAFKA_STORAGE_ERROR)
    assert java_class(failed) == "org.apache.kafka.common.errors.KafkaStorageException"


def test_other_failures_keep_the_class_they_bring() -> None:
    assert java_class(ToolError("java.lang.RuntimeException", "no")) == "java.lang.RuntimeException"
    assert java_class(TimeoutError()) == "org.apache.kafka.common.errors.TimeoutException"


@pytest.mark.parametrize("version", ["2.0.1", "2.8.2"])
@pytest.mark.parametrize(
    "code", [code for code in ZkErrorCode if code is not ZkErrorCode.OK], ids=lambda code: code.name
)
def test_an_error_of_zookeeper_has_the_class_and_the_text_of_its_jar(
    code: ZkErrorCode, version: str
) -> None:
    refused = ZkError(code)
    assert (java_class(refused), text_of(refused)) == recorded(version, "zookeeper")[int(code)]


def test_an_error_of_zookeeper_names_its_path() -> None:
    assert text_of(ZkError(ZkErrorCode.NO_NODE, "/a")) == "KeeperErrorCode = NoNode for /a"

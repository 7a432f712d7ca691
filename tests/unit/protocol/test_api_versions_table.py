from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.api_versions_table import API_LEVELS, MAX_VERSIONS, SERVED
from kafka_edu.protocol.messages.registry import REGISTRY


def test_advertised_versions_can_be_encoded_and_decoded() -> None:
    assert set(API_LEVELS["2.8"]) == SERVED <= set(REGISTRY) == set(MAX_VERSIONS)
    for table in API_LEVELS.values():
        for key, (low, high) in table.items():
            assert REGISTRY[key].min_version <= low <= high <= REGISTRY[key].max_version


def test_level_2_8_goes_as_far_as_the_messages_do() -> None:
    assert {key: in_2_8 for key, (_, in_2_8) in MAX_VERSIONS.items()} == {
        key: pair.max_version for key, pair in REGISTRY.items()
    }


#: Highest versions of Kafka 2.0.0.
IN_2_0_0 = {
    ApiKey.PRODUCE: 6,
    ApiKey.FETCH: 8,
    ApiKey.LIST_OFFSETS: 3,
    ApiKey.METADATA: 6,
    ApiKey.LEADER_AND_ISR: 1,
    ApiKey.STOP_REPLICA: 0,
    ApiKey.UPDATE_METADATA: 4,
    ApiKey.CONTROLLED_SHUTDOWN: 1,
    ApiKey.OFFSET_COMMIT: 4,
    ApiKey.OFFSET_FETCH: 4,
    ApiKey.FIND_COORDINATOR: 2,
    ApiKey.JOIN_GROUP: 3,
    ApiKey.HEARTBEAT: 2,
    ApiKey.LEAVE_GROUP: 2,
    ApiKey.SYNC_GROUP: 2,
    ApiKey.DESCRIBE_GROUPS: 2,
    ApiKey.LIST_GROUPS: 2,
    ApiKey.SASL_HANDSHAKE: 1,
    ApiKey.API_VERSIONS: 2,
    ApiKey.CREATE_TOPICS: 3,
    ApiKey.DELETE_TOPICS: 2,
    ApiKey.DELETE_RECORDS: 1,
    ApiKey.INIT_PRODUCER_ID: 1,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 1,
    ApiKey.ADD_PARTITIONS_TO_TXN: 1,
    ApiKey.ADD_OFFSETS_TO_TXN: 1,
    ApiKey.END_TXN: 1,
    ApiKey.WRITE_TXN_MARKERS: 0,
    ApiKey.TXN_OFFSET_COMMIT: 1,
    ApiKey.DESCRIBE_ACLS: 1,
    ApiKey.CREATE_ACLS: 1,
    ApiKey.DELETE_ACLS: 1,
    ApiKey.DESCRIBE_CONFIGS: 2,
    ApiKey.ALTER_CONFIGS: 1,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 1,
    ApiKey.DESCRIBE_LOG_DIRS: 1,
    ApiKey.SASL_AUTHENTICATE: 0,
    ApiKey.CREATE_PARTITIONS: 1,
    ApiKey.CREATE_DELEGATION_TOKEN: 1,
    ApiKey.RENEW_DELEGATION_TOKEN: 1,
    ApiKey.EXPIRE_DELEGATION_TOKEN: 1,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: 1,
    ApiKey.DELETE_GROUPS: 1,
}


def test_level_2_0_is_kafka_2_0_0s() -> None:
    assert {
        key: in_2_0 for key, (in_2_0, _) in MAX_VERSIONS.items() if in_2_0 is not None
    } == IN_2_0_0
    assert API_LEVELS["2.0"] == {
        key: (0, highest) for key, highest in IN_2_0_0.items() if key in SERVED
    }


def test_the_table_knows_every_key_of_2_8_and_2_0_had_the_first_43() -> None:
    assert set(MAX_VERSIONS) == set(ApiKey)
    assert [key for key, (in_2_0, _) in MAX_VERSIONS.items() if in_2_0 is not None] == list(
        range(43)
    )


def test_tables_are_in_the_order_of_the_keys_and_begin_at_0() -> None:
    for table in API_LEVELS.values():
        assert list(table) == sorted(table)
        assert {low for low, _ in table.values()} == {0}


def test_no_key_of_2_0_was_flexible_then() -> None:
    assert not any(
        key.is_flexible(in_2_0) for key, (in_2_0, _) in MAX_VERSIONS.items() if in_2_0 is not None
    )

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.api_versions_table import API_LEVELS, MAX_VERSIONS, SERVED
from kafka_edu.protocol.messages import REGISTRY


def test_what_is_advertised_can_be_encoded_and_decoded() -> None:
    assert set(API_LEVELS["2.8"]) == SERVED <= set(REGISTRY) == set(MAX_VERSIONS)
    for table in API_LEVELS.values():
        for key, (low, high) in table.items():
            assert REGISTRY[key].min_version <= low <= high <= REGISTRY[key].max_version


def test_level_2_8_goes_as_far_as_the_messages_do() -> None:
    assert {key: in_2_8 for key, (_, in_2_8) in MAX_VERSIONS.items()} == {key: pair.max_version for key, pair in REGISTRY.items()}


def test_level_2_0_is_kafka_2_0_0s() -> None:
    highest = {key.name: high for key, (_, high) in API_LEVELS["2.0"].items()}
    assert highest == {
        "PRODUCE": 6,
        "FETCH": 8,
        "LIST_OFFSETS": 3,
        "METADATA": 6,
        "LEADER_AND_ISR": 1,
        "STOP_REPLICA": 0,
        "UPDATE_METADATA": 4,
        "CONTROLLED_SHUTDOWN": 1,
        "FIND_COORDINATOR": 2,
        "API_VERSIONS": 2,
        "CREATE_TOPICS": 3,
        "INIT_PRODUCER_ID": 1,
        "OFFSET_FOR_LEADER_EPOCH": 1,
    }


def test_the_table_knows_every_key_of_2_8_and_2_0_had_the_first_43() -> None:
    assert set(MAX_VERSIONS) == set(ApiKey)
    assert [key for key, (in_2_0, _) in MAX_VERSIONS.items() if in_2_0 is not None] == list(range(43))


def test_tables_are_in_the_order_of_the_keys_and_begin_at_0() -> None:
    for table in API_LEVELS.values():
        assert list(table) == sorted(table)
        assert {low for low, _ in table.values()} == {0}


def test_no_key_of_2_0_was_flexible_then() -> None:
    assert not any(key.is_flexible(in_2_0) for key, (in_2_0, _) in MAX_VERSIONS.items() if in_2_0 is not None)

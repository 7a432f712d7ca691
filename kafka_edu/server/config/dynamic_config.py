"""Check the configs of clients, users and brokers in ZooKeeper (Kafka: DynamicConfig.scala).

The quotas of clients and users are those of KIP-13 and KIP-124. A user's SCRAM credentials (KIP-84)
are in the same znode as the quotas. Unknown keys of brokers are accepted, as in Kafka, because they
may belong to a plug-in.
"""

from collections.abc import Mapping
from typing import Final

from kafka_edu.common.config_def import ConfigDef, ConfigKey, ConfigType, Gap
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.server.admin.client_quotas import CLIENT_QUOTAS
from kafka_edu.server.admin.user_scram_manager import ScramMechanism
from kafka_edu.server.config.config_gaps import NO_QUOTAS, NO_SASL

_QUOTAS: Final = [
    ConfigKey(name, kind, None, None, "a quota", Gap(NO_QUOTAS))
    for name, kind in CLIENT_QUOTAS.items()
]
CLIENT_CONFIG: Final = ConfigDef(_QUOTAS)
USER_CONFIG: Final = ConfigDef(
    [
        *(
            ConfigKey(
                mechanism.key, ConfigType.PASSWORD, None, None, "its credential", Gap(NO_SASL)
            )
            for mechanism in ScramMechanism
        ),
        *_QUOTAS,
    ]
)


def validate_dynamic_config(
    kind: ConfigDef, configs: Mapping[str, str], *, custom: bool = False
) -> None:
    """Check `configs` with the key table `kind`. Raises ConfigException for a wrong value, and
    KafkaException(INVALID_CONFIG) for an unknown key. If `custom` is True, unknown keys are
    allowed.
    """
    if not custom and (unknown := kind.unknown(configs)):
        raise KafkaException(
            Errors.INVALID_CONFIG,
            f"requirement failed: Unknown Dynamic Configuration: Set({', '.join(unknown)}).",
        )
    kind.parse(configs)

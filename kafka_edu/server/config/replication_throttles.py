"""Pass the settings of throttled replication on to the quotas (Kafka: TopicConfigHandler and
BrokerConfigHandler in ConfigHandler.scala).

    /config/topics/<topic>   {leader,follower}.replication.throttled.replicas
    /config/brokers/<id>     {leader,follower}.replication.throttled.rate, and
                             replica.alter.log.dirs.io.max.bytes.per.second

A rate counts only for the broker for which it is set. As in Kafka, a rate cannot be set in
/config/brokers/<default>.
"""

import logging
from collections.abc import Mapping

from kafka_edu.common.config_def import ConfigException
from kafka_edu.common.time import Time
from kafka_edu.log.log_config import LogConfig
from kafka_edu.replication.replication_quota_manager import (
    UNLIMITED,
    ReplicationQuotaManager,
    ReplicationQuotas,
    throttled_partitions,
)
from kafka_edu.server.config.config_gaps import DYNAMIC_ONLY_CONFIG

log = logging.getLogger(__name__)


class ReplicationThrottles:
    """Sets the quotas of one broker. Only the broker's event loop may use it."""

    def __init__(self, broker_id: int, quotas: ReplicationQuotas, time: Time) -> None:
        self._broker_id = broker_id
        self._quotas = quotas
        self._time = time

    def take_rates(self, configs: Mapping[str, str]) -> None:
        """Set the rates from the contents of /config/brokers/<id>.

        Without a rate, replication is not limited.
        """
        for quota in self._quotas:
            quota.update_quota(_rate(configs, quota), self._time.hi_res_clock_ms())

    def take_topic(self, topic: str, config: LogConfig | None) -> None:
        """Throttle the replicas that a topic's settings list.

        `config` is None if the topic was deleted.
        """
        now_ms, quotas = self._time.hi_res_clock_ms(), self._quotas
        for quota, replicas in (
            (quotas.leader, config.leader_replication_throttled_replicas if config else ()),
            (quotas.follower, config.follower_replication_throttled_replicas if config else ()),
        ):
            throttled = throttled_partitions(replicas, self._broker_id)
            quota.mark_throttled(topic, throttled, now_ms)


def _rate(configs: Mapping[str, str], quota: ReplicationQuotaManager) -> int:
    """Return the side's rate in bytes per second.

    If somebody wrote a wrong rate into ZooKeeper by hand, it is logged and ignored.
    """
    key = DYNAMIC_ONLY_CONFIG.keys[quota.side.rate_key]
    text = configs.get(key.name)
    if text is None:
        return UNLIMITED
    try:
        rate = key.parse(text)
    except ConfigException as wrong:
        log.warning("the dynamic configuration in ZooKeeper is wrong: %s", wrong)
        return UNLIMITED
    assert isinstance(rate, int)
    return rate

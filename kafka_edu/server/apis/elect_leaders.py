"""ElectLeaders: hold preferred and unclean elections on request (Kafka:
KafkaApis.handleElectReplicaLeader, ReplicaManager.electLeaders; KIP-183, KIP-460).

Clients send this request to the controller. Other brokers answer NOT_CONTROLLER for each partition.
KafkaController holds the elections.
"""

from collections.abc import Iterable, Mapping

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.kafka_controller import KafkaController
from kafka_edu.controller.requested_elections import ElectionType
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.server.admin.delayed_elect_leader import DelayedElectLeader
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis


class ElectLeadersApi:
    def __init__(
        self,
        controller: KafkaController,
        cache: MetadataCache,
        purgatory: DelayedOperationPurgatory[DelayedElectLeader],
        time: Time,
    ) -> None:
        self._controller = controller
        self._cache = cache
        self._purgatory = purgatory
        self._time = time

    def register(self, apis: KafkaApis) -> None:
        apis.serve(ApiKey.ELECT_LEADERS, ElectLeadersRequest, self.handle, self.error_response)

    def on_topics_updated(self, topics: Iterable[str]) -> None:
        """Check again whether waiting requests are complete, because an UpdateMetadata request
        contained new leaders of `topics`.
        """
        for topic in topics:
            self._purgatory.check_and_complete(topic)

    async def handle(self, call: ApiCall, request: ElectLeadersRequest) -> None:
        """Hold the elections, and answer when this broker knows the new leaders. If the request's
        list of partitions is null, elections are held for all partitions. In this case the answer
        leaves out the partitions that needed no election.

        An unknown election type gets UNKNOWN_SERVER_ERROR, as in Kafka.
        """
        if request.election_type not in set(ElectionType):
            raise KafkaException(
                Errors.UNKNOWN_SERVER_ERROR, f"there is no election type {request.election_type}"
            )
        deadline_ms = self._time.hi_res_clock_ms() + request.timeout_ms
        ask_for_all = request.topic_partitions is None
        partitions = self._all_partitions() if ask_for_all else _partitions(request)
        try:
            results = await self._controller.elect_leaders(
                partitions, ElectionType(request.election_type)
            )
        except KafkaException as refused:
            call.respond(_response(dict.fromkeys(partitions, (refused.error, ""))))
            return
        failed = {
            tp: (result.error, result.message or result.error.message)
            for tp, result in results.items()
            if result.error is not Errors.NONE
            and not (ask_for_all and result.error is Errors.ELECTION_NOT_NEEDED)
        }
        elected = {
            tp: result.leader for tp, result in results.items() if result.error is Errors.NONE
        }
        if not elected:
            call.respond(_response(failed))
            return
        timeout_ms = max(0, deadline_ms - self._time.hi_res_clock_ms())

        def respond(outcome: Mapping[TopicPartition, Errors]) -> None:
            call.respond(_response(failed | {tp: (error, "") for tp, error in outcome.items()}))

        operation = DelayedElectLeader(timeout_ms, elected, self._cache, respond)
        operation.on_failure = call.fail
        self._purgatory.try_complete_else_watch(
            operation, tuple(dict.fromkeys(tp.topic for tp in elected))
        )
        if not call.answered:
            call.waits()

    def _all_partitions(self) -> list[TopicPartition]:
        return [
            TopicPartition(topic, number)
            for topic in self._cache.topics
            for number in self._cache.partitions_of(topic)
        ]

    @staticmethod
    def error_response(
        request: ElectLeadersRequest, _: int, error: Errors, __: str
    ) -> ElectLeadersResponse:
        return _response(dict.fromkeys(_partitions(request), (error, "")), error)


def _partitions(request: ElectLeadersRequest) -> list[TopicPartition]:
    return [
        TopicPartition(topic.topic, number)
        for topic in request.topic_partitions or []
        for number in topic.partition_id
    ]


def _response(
    errors: Mapping[TopicPartition, tuple[Errors, str]], error: Errors = Errors.NONE
) -> ElectLeadersResponse:
    """Build the response. `errors` holds the error and the message of each partition. The message
    may be "".
    """
    topics: dict[str, ReplicaElectionResult] = {}
    for tp, (outcome, said) in errors.items():
        topic = topics.setdefault(
            tp.topic, ReplicaElectionResult(topic=tp.topic, partition_result=[])
        )
        topic.partition_result.append(
            PartitionResult(
                partition_id=tp.partition, error_code=outcome, error_message=said or None
            )
        )
    return ElectLeadersResponse(error_code=error, replica_election_results=list(topics.values()))

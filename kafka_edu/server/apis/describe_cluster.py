"""DescribeCluster: return the brokers and the controller, without any topics (Kafka:
KafkaApis.handleDescribeCluster; KIP-700).
"""

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.cluster.metadata_response import NOT_ASKED
from kafka_edu.common.errors import Errors
from kafka_edu.controller.kafka_controller import NO_CONTROLLER
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.apis.metadata import CLUSTER_OPERATIONS
from kafka_edu.server.kafka_apis import KafkaApis


class DescribeClusterApi:
    def __init__(self, cache: MetadataCache, cluster_id: str) -> None:
        self._cache = cache
        self._cluster_id = cluster_id

    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.DESCRIBE_CLUSTER, DescribeClusterRequest, self.handle, self.error_response
        )

    def handle(self, call: ApiCall, request: DescribeClusterRequest) -> None:
        """Answer with the addresses of the brokers. Each address belongs to the listener with the
        same name as the listener that received the request. A broker without such a listener is
        left out.
        """
        brokers = []
        for broker in self._cache.get_alive_brokers():
            end_point = broker.end_point(call.request.listener_name)
            if end_point is not None:
                brokers.append(
                    DescribeClusterBroker(
                        broker_id=broker.id,
                        host=end_point.host,
                        port=end_point.port,
                        rack=broker.rack,
                    )
                )
        controller_id = self._cache.controller_id
        call.respond(
            DescribeClusterResponse(
                cluster_id=self._cluster_id,
                controller_id=NO_CONTROLLER if controller_id is None else controller_id,
                brokers=brokers,
                cluster_authorized_operations=(
                    CLUSTER_OPERATIONS
                    if request.include_cluster_authorized_operations
                    else NOT_ASKED
                ),
            )
        )

    @staticmethod
    def error_response(
        _: DescribeClusterRequest, __: int, error: Errors, message: str
    ) -> DescribeClusterResponse:
        return DescribeClusterResponse(error_code=error, error_message=message)

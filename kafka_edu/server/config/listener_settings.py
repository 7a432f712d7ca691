"""Choose the listeners of a broker whose user has not set any. One listener accepts all requests.
If control.plane.listener.name is set, a second listener accepts the controller's requests.
"""

from collections.abc import Mapping
from typing import Final

CONTROL_PLANE_KEY: Final = "control.plane.listener.name"
CLIENTS: Final = "PLAINTEXT"


def listener_settings(host: str, port: int, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the setting `listeners`. If a listener has a name other than PLAINTEXT, also return
    the map of security protocols.

    The control-plane listener gets a free port at each start. Only controllers connect to it, and
    they read the port from the broker's znode.
    """
    control = settings.get(CONTROL_PLANE_KEY)
    if control is None or control == CLIENTS:
        return {"listeners": f"{CLIENTS}://{host}:{port}"}
    return {
        "listeners": f"{CLIENTS}://{host}:{port},{control}://{host}:0",
        "listener.security.protocol.map": f"{CLIENTS}:PLAINTEXT,{control}:PLAINTEXT",
    }

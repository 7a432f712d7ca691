"""The listeners of a broker whose user names none: one for all requests. If
control.plane.listener.name is set, there is one more for the controller.
"""

from collections.abc import Mapping
from typing import Final

CONTROL_PLANE_KEY: Final = "control.plane.listener.name"
CLIENTS: Final = "PLAINTEXT"


def listener_settings(host: str, port: int, settings: Mapping[str, str]) -> dict[str, str]:
    """Return `listeners`, and the map of security protocols if a listener is not called PLAINTEXT.

    The control plane gets a free port at each start. Only controllers connect to it, and they find
    the port in the broker's znode.
    """
    control = settings.get(CONTROL_PLANE_KEY)
    if control is None or control == CLIENTS:
        return {"listeners": f"{CLIENTS}://{host}:{port}"}
    return {
        "listeners": f"{CLIENTS}://{host}:{port},{control}://{host}:0",
        "listener.security.protocol.map": f"{CLIENTS}:PLAINTEXT,{control}:PLAINTEXT",
    }

"""The listeners of a broker for which nothing else is said: one for all, and one more for the
controller where control.plane.listener.name names it.
"""

from collections.abc import Mapping
from typing import Final

CONTROL_PLANE_KEY: Final = "control.plane.listener.name"
CLIENTS: Final = "PLAINTEXT"


def listener_settings(host: str, port: int, settings: Mapping[str, str]) -> dict[str, str]:
    """`listeners`, and the map of security protocols where a name other than PLAINTEXT is in it.
    The control plane gets a free port at each start: only controllers ask for it, and they find it
    in the broker's znode.
    """
    control = settings.get(CONTROL_PLANE_KEY)
    if control is None or control == CLIENTS:
        return {"listeners": f"{CLIENTS}://{host}:{port}"}
    return {
        "listeners": f"{CLIENTS}://{host}:{port},{control}://{host}:0",
        "listener.security.protocol.map": f"{CLIENTS}:PLAINTEXT,{control}:PLAINTEXT",
    }

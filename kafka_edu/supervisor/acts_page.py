"""Make docs/acts.md from the table of acts.

`python -m kafka_edu.supervisor.acts_page docs/acts.md` writes the page again. A test fails when the
page is out of date.
"""

import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kafka_edu.supervisor.act_table import CLUSTER_ACTS, PROCESS_ACTS, RELAYED_ACTS, Act

_BEFORE: Final = """\
# Acts

An act changes a running cluster: for example, it kills a broker, cuts a link, or moves a partition.
This page is made from the table in `kafka_edu/supervisor/act_table.py`. The dashboard's palette and
the command line read the same table.

```sh
./kafka-edu cluster act                     # lists all acts
```

```sh no-check: it changes a cluster
./kafka-edu cluster up
./kafka-edu cluster act slow-link 0 1 200   # an act, and its values in this order
./kafka-edu cluster status                  # names the links that are not whole
./kafka-edu cluster act heal-link 0 1
```

In the dashboard `:` opens the palette, a list of all acts. On the Cluster screen the keys `k`, `s`,
`p`, `r` and `x` act on the selected broker. Before a dangerous act, the dashboard says what the act
does or costs, and asks for `y`. A presentation can contain acts too ([the
presenter](presenter.md)).

The supervisor carries out every act, no matter whether it comes from the shell, the dashboard or a
presentation. It emits ActionAsked with a description of the act, and ActionDone with the result. So
every dashboard's time line and every recording shows each act, even a refused one.

An act works in every state of the cluster, or the supervisor refuses it. It then says in one line
what was not done, why, and what to do. If an act needs a process that is paused or stopped, or a
link that is cut, it is refused at once: "zookeeper is stopped: start it first". If a stop takes
long, a kill does not wait for its end.
"""

_AFTER: Final = """\
## Stalls

The act `stall 1 7000 20000` stops the process of broker 1 (SIGSTOP) for 7 s, and again 20 s after
the beginning of each stop. It lasts until `steady 1`, also over restarts. `cluster status` names
the act. Between and during these stops, the state of the process is shown as "running", because
nobody has paused it. If you pause the broker meanwhile, it stays paused.

## Links

A fault of a link (slow or cut) is simulated in the transport code of the broker
(`kafka_edu/common/link_faults.py`), as in the simulator. Each connection between two brokers is
opened by one of them. So the supervisor sets the fault at both brokers, and it covers the whole
link: fetches and the controller's requests, also over a control plane of their own. If one of the
brokers cannot set the fault, the other broker removes it again, and the act is refused. Each broker
emits LinkFaultChanged.

You can heal a link while the broker at one end is paused: the broker heals its end when it is
resumed. A broker that is stopped forgets all faults.

- A slow link delays all bytes in each direction, and keeps their order.
- A cut link holds everything back, like a pulled cable. Neither side gets an error: requests that
  wait for the other side end by their time-outs, and new connections time out.
- A healed link delivers the bytes that waited, unless one side has given up meanwhile.
- A reset ends each connection of the link with an error, and loses the bytes that were on their
  way. The link itself stays as it is, so both sides connect again. Each broker emits LinkReset.

The supervisor sends a fault to a broker over the broker's event socket, as a line with the socket's
token. Every broker has this socket already, and only the cluster's owner can read the token. No
fault is written to the disk, so a broker that starts again has no faults. When a broker ends, the
supervisor heals the other ends of its links and emits LinkChanged.

## Links over the relay

```sh no-check: it needs a cluster of its own
./kafka-edu cluster up --cluster links --with-relays
./kafka-edu cluster act --cluster links cut-zookeeper 0
./kafka-edu cluster act --cluster links heal-zookeeper 0
```

ZooKeeper and Kafka's clients do not use the brokers' transport code, so it cannot simulate faults
for them. `--with-relays` starts one more process, the relay (`kafka_edu/supervisor/relay.py`). All
connections between ZooKeeper and the brokers, and between clients and the brokers, go through the
relay, which simulates the faults with the same transport code. `bootstrap.servers` names the
relay's ports, and each broker advertises its port of the relay. Brokers reach each other directly,
over a listener of their own (BROKERS). The supervisor's own acts and commands on ZooKeeper do not
go through the relay.

- If one side closes a connection over the relay, the other side first gets all bytes that were
  sent before, and then sees that the connection is closed.
- The relay accepts connections for a cut link, and answers nothing. If the client gives up before
  the link is healed, none of its bytes reach the broker.
- The faults of these links are in the relay, not in the broker. So a broker that starts again is
  still cut off.
- If the relay ends, every connection over it ends. The supervisor emits ProcessEnded, and
  LinkChanged for each of its links, because the next relay starts without faults. The supervisor
  starts the next relay at once. If a relay cannot listen on its ports, it is not started again: the
  dashboard says that the relay has ended, and the acts are refused.
- A broker's link to ZooKeeper counts as one link, even to an ensemble.
- `cluster down` first heals the links to ZooKeeper and to clients, because a broker without
  ZooKeeper cannot hand its leaderships over.
- In a cluster `--with-relays` the supervisor chooses `listeners` and the settings that belong to
  it. If you set one of them, `up` refuses to start. You may set `control.plane.listener.name`, to
  any name but PLAINTEXT and BROKERS.

`cluster up` remembers `--with-relays` until you give `--without-relays`. In a cluster without a
relay the acts on these links are refused, and the message says how to start the cluster with a
relay.
"""


def page() -> str:
    """Return the text of docs/acts.md."""
    return "\n".join(
        [
            _BEFORE,
            "## Acts on a process\n",
            "BROKER is a broker's number here, in the shell, on the dashboard and in a"
            " presentation. A ZooKeeper\nserver of ours has commands of its own:"
            " `kafka-edu cluster stop zookeeper`, and so `start`, `kill`,\n`pause` and `resume`."
            " There is no `restart` for it.\n",
            *_rows(PROCESS_ACTS),
            "\n## Acts on the cluster\n",
            *_rows(CLUSTER_ACTS),
            "\n## Acts on a cluster started --with-relays\n",
            *_rows(RELAYED_ACTS),
            "",
            _AFTER.rstrip("\n"),
            "",
        ]
    )


def _rows(acts: Iterable[Act]) -> Iterable[str]:
    for act in acts:
        words = " ".join([act.name, *(parameter.value.upper() for parameter in act.parameters)])
        asks = " Dangerous: asks first." if act.dangerous else ""
        yield textwrap.fill(
            f"- `{words}`: {act.effect}{asks}",
            100,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def main() -> None:
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

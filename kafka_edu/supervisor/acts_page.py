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

An act does something to a running cluster: it kills a broker, cuts a link, moves a partition. This
page is made from the table in `kafka_edu/supervisor/act_table.py`. The dashboard's palette and the
command line read the same table.

```sh
./kafka-edu cluster act                     # lists all acts
```

```sh no-check: it changes a cluster
./kafka-edu cluster up
./kafka-edu cluster act slow-link 0 1 200   # an act, and its values in this order
./kafka-edu cluster status                  # names the links that are not whole
./kafka-edu cluster act heal-link 0 1
```

In the dashboard `:` opens the palette. On the Cluster screen `k`, `s`, `p`, `r` and `x` act on the
selected broker. A dangerous act is confirmed first by `y`. The confirmation says what the act costs
or does. A presentation names acts too ([the presenter](presenter.md)).

The supervisor carries out every act, from the shell, the dashboard or a presentation. It emits
ActionAsked with a description of the act, and ActionDone with the result. So every dashboard's time
line and every recording shows each act, even a refused one.

An act works in every state of the cluster, or it is refused in one line: what is not done, why, and
what to do. If it needs a process that is paused or stopped, or a link that is cut, it is refused at
once: "zookeeper is stopped: start it first". A kill does not wait for a stop that takes long.
"""

_AFTER: Final = """\
## Stalls

`stall 1 7000 20000` lets broker 1 stand still (SIGSTOP) for 7 s, and again 20 s after that stall
began. It lasts until `steady 1`, also over restarts. `cluster status` names it. The state of the
process stays "running": nobody has paused it. Who pauses it meanwhile finds it paused.

## Links

A fault sits in the transport that a broker is given (`kafka_edu/common/link_faults.py`). It has the
same type as the simulator's. Between two brokers each connection is opened by one of them. So the
supervisor sets the fault at both, and it covers the whole link: fetches and the controller's
requests, also over a control plane of their own. If one of them cannot set it, the
other undoes it, and the act is refused. Each broker emits LinkFaultChanged.

A link is healed also while an end of it is paused: a paused broker heals its end when it is
resumed. A stopped one knows of no fault.

- A slow link delays each piece in each direction, and keeps the order.
- A cut link holds everything, as a pulled cable does. Neither side gets an error: what waits for
  the other side ends by its time-out, and new connections time out.
- A healed link delivers what waited, unless one side has given up meanwhile.
- A reset ends each connection with an error and loses what was on its way. The link itself stays as
  it is, so both sides connect again. Each broker emits LinkReset.

A broker learns of a fault over its event socket, by a line that carries the socket's token. Every
broker has this socket already, and only the cluster's owner can read the token. Nothing is
written to disk, so a broker that starts again knows of no fault. When a broker ends, the supervisor
heals the other ends of its links and emits LinkChanged.

## Links over the relay

```sh no-check: it needs a cluster of its own
./kafka-edu cluster up --cluster links --with-relays
./kafka-edu cluster act --cluster links cut-zookeeper 0
./kafka-edu cluster act --cluster links heal-zookeeper 0
```

ZooKeeper and foreign clients have no transport of ours. `--with-relays` starts one more process,
the relay (`kafka_edu/supervisor/relay.py`). What goes between them and the brokers passes through
it, over the same transport. `bootstrap.servers` names the relay's ports, and each broker advertises
its port of the relay. Brokers reach each other directly, over a listener of their own (BROKERS).
The supervisor's own acts and commands on ZooKeeper do not pass the relay.

- The end of a connection is held back like its bytes, and arrives behind them.
- The relay accepts connections for a link that is cut, and answers nothing. If the client gives up
  before the link is healed, none of its bytes reach the broker.
- The faults are in the relay, not in the broker. So a broker that starts again is still cut off.
- If the relay ends, every connection over it ends. The supervisor emits ProcessEnded, and
  LinkChanged for each of its links, because the next relay knows of no fault. It starts the next
  one at once. A relay that cannot listen on its ports is not started again: the dashboard says that
  the relay has ended, and the acts are refused.
- A broker's link to ZooKeeper is one link, also to an ensemble.
- `cluster down` heals these links first, because a broker without ZooKeeper cannot hand its
  leaders over.
- The cluster chooses `listeners` and the settings that belong to it. If you set one of them, `up`
  refuses to start. `control.plane.listener.name` works, under any name but PLAINTEXT and BROKERS.

`up` remembers `--with-relays` until `--without-relays`. In a cluster without a relay these acts are
refused, and the message says how to start one with it.
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

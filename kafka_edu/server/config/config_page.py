"""Write docs/configuration.md from the tables of keys. For each key the page says whether the key
works, has no effect yet, or is refused.

`python -m kafka_edu.server.config.config_page docs/configuration.md` writes the page again. A test
fails when the page is out of date.
"""

import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kafka_edu.common.config_def import REQUIRED, ConfigDef, ConfigKey, Effect
from kafka_edu.log.log_config import TOPIC_CONFIG
from kafka_edu.server.config.config_gaps import AUTHORIZER_CONFIG, DYNAMIC_ONLY_CONFIG
from kafka_edu.server.config.dynamic_broker_config import DYNAMIC, PER_BROKER
from kafka_edu.server.config.dynamic_config import USER_CONFIG
from kafka_edu.server.config.kafka_config_keys import CONFIG_DEF

HEAD: Final = """# Configuration

Every key of a broker, a topic, a user and a client. This page is generated from the tables in the
code. The command is `python -m kafka_edu.server.config.config_page docs/configuration.md`. A test
fails when the page is out of date.

The column *effect* says what happens when a key is set:

- **works**: the broker behaves as Kafka does.
- **no effect yet**: the broker accepts the value, because clients and scripts set it, but does not
  use it. A message names the key once where it is set: in the terminal of `cluster up` and
  `server-start`, in the output of the tools `topics` and `configs`, and in broker.log.
- **refused**: the value asks for protection that does not exist here. The broker does not start,
  and its message says what is missing. A value that asks for nothing, such as
  `zookeeper.set.acl=false`, is accepted.

An unknown key is ignored, as in Kafka. A message names it, with the most similar known key. A test
compares this page with the keys that the code reads. It fails for a key that "works" but is not
read, and for a key that is read but has "no effect yet".

`cluster up --api-level 2.0` sets `edu.api.level`. Clients then see and use the API versions of
Kafka 2.0. The brokers still use `inter.broker.protocol.version` among themselves.

`listener.name.<listener>.max.connections` sets `max.connections` for a single listener. No other
key can be set for a single listener.
"""
_COUNTED: Final = {
    Effect.WORKS: "work",
    Effect.NONE: "have no effect yet",
    Effect.REFUSED: "are refused",
}
COLUMNS: Final = (
    "| key | type | default | while the broker runs | effect | what it does |\n| --- | --- | --- |"
    " --- | --- | --- |"
)


def _default(config_def: ConfigDef, key: ConfigKey) -> str:
    if key.default is REQUIRED:
        return "(must be set)"
    return f"`{text}`" if (text := config_def.default_text(key.name)) else ""


def _row(config_def: ConfigDef, key: ConfigKey, changes: str) -> str:
    effect = f"**{key.effect.value}**" if key.gap is not None else key.effect.value
    if key.gap is not None:
        effect += f": {key.gap.missing}"
    doc = key.doc[:1].upper() + key.doc[1:].rstrip(".")
    return (
        "| "
        + " | ".join(
            text.replace("|", "\\|")
            for text in (
                f"`{key.name}`",
                key.type.value,
                _default(config_def, key),
                changes,
                effect,
                doc,
            )
        )
        + " |"
    )


def _changes(name: str) -> str:
    """Return the text that says whether a broker's key can be changed while the broker runs."""
    if name in PER_BROKER:
        return "for one broker"
    return "for one or all" if name in DYNAMIC else ""


def _section(title: str, text: str, rows: Iterable[str]) -> str:
    filled = textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)
    return f"## {title}\n\n{filled}\n\n{COLUMNS}\n" + "\n".join(rows) + "\n"


def page() -> str:
    """Return the text of docs/configuration.md."""
    ours = [key for key in CONFIG_DEF if key.name.startswith("edu.")]
    kafkas = [key for key in CONFIG_DEF if not key.name.startswith("edu.")]
    counts = {effect: sum(1 for key in kafkas if key.effect is effect) for effect in Effect}
    listed = ", ".join(f"{count} {_COUNTED[effect]}" for effect, count in counts.items() if count)
    return "\n".join(
        [
            HEAD,
            _section(
                "Brokers",
                f"The keys of server.properties, as Apache Kafka 2.8.2 has them: {listed}.",
                (_row(CONFIG_DEF, key, _changes(key.name)) for key in kafkas),
            ),
            _section(
                "This project's own",
                "These keys begin with `edu.`.",
                (_row(CONFIG_DEF, key, _changes(key.name)) for key in ours),
            ),
            _section(
                "Brokers, only while they run",
                "These keys cannot be set in server.properties. Set them with `configs --alter"
                " --entity-type brokers`.",
                (_row(DYNAMIC_ONLY_CONFIG, key, "for one") for key in DYNAMIC_ONLY_CONFIG),
            ),
            _section(
                "Keys of Kafka's authorizer",
                "They are not keys of Kafka's broker either. The broker checks for them because a"
                " user who sets them expects an authorizer.",
                (_row(AUTHORIZER_CONFIG, key, "") for key in AUTHORIZER_CONFIG),
            ),
            _section(
                "Topics",
                "A topic that does not set a key uses the broker's value.",
                (_row(TOPIC_CONFIG, key, "always") for key in TOPIC_CONFIG),
            ),
            _section(
                "Users and clients",
                "For clients, only the quotas can be set.",
                (_row(USER_CONFIG, key, "always") for key in USER_CONFIG),
            ),
        ]
    )


def main(argv: list[str]) -> int:
    Path(argv[0]).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The README's table of clients and their abilities, made from the results of their tests.

    KAFKA_EDU_CLIENT_RESULTS=tests/interop/clients.json ./kafka-edu test tests/interop
    python -m tests.interop.matrix README.md            # rewrites the table
    python -m tests.interop.matrix --same RESULTS       # exit code 1 if these results differ from
                                                        # the committed ones

The tests write the results file (see conftest.py). Do not edit the table by hand.
"""

import json
import sys
from pathlib import Path
from typing import Final

Results = dict[str, dict[str, str]]
"""Client → ability → yes, no, or – for an ability that the client does not offer on any broker."""

COMMITTED: Final = Path(__file__).parent / "clients.json"
ABILITIES: Final = (
    "produce",
    "consume",
    "groups",
    "offsets",
    "topics",
    "gzip",
    "snappy",
    "lz4",
    "zstd",
)
BEGIN: Final = "<!-- clients: begin; written by python -m tests.interop.matrix README.md -->"
END: Final = "<!-- clients: end -->"


def merged(before: Results, new: Results) -> Results:
    """Merge two results. Clients come in the order of their names, abilities in the order of the
    table. New values replace old ones.
    """
    clients = {
        client: before.get(client, {}) | new.get(client, {})
        for client in sorted({*before, *new}, key=str.lower)
    }
    return {
        client: {ability: row[ability] for ability in ABILITIES if ability in row}
        for client, row in clients.items()
    }


def table(results: Results) -> str:
    lines = ["| client | " + " | ".join(ABILITIES) + " |", "| --- |" + " --- |" * len(ABILITIES)]
    lines += [
        f"| {client} | " + " | ".join(row.get(ability, "?") for ability in ABILITIES) + " |"
        for client, row in results.items()
    ]
    return "\n".join(lines)


def rewritten(text: str, results: Results) -> str:
    """Return the page with the table between its markers. Raises ValueError without markers."""
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return f"{text[:begin]}\n{table(results)}\n{text[end:]}"


def load(path: Path) -> Results:
    results: Results = json.loads(path.read_text(encoding="utf-8"))
    return results


def main(arguments: list[str]) -> int:
    if arguments[0] == "--same":
        run, committed = load(Path(arguments[1])), load(COMMITTED)
        if run != committed:
            print(f"this run:\n{table(run)}\n\n{COMMITTED}:\n{table(committed)}")
        return int(run != committed)
    page = Path(arguments[0])
    page.write_text(rewritten(page.read_text(encoding="utf-8"), load(COMMITTED)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

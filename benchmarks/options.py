"""Command-line options that several benchmarks share."""

import argparse


def add_repeats(parser: argparse.ArgumentParser, default: int, what: str = "rounds") -> None:
    """Add the option `--repeats N`.

    The old name `--rounds` also works, but the help does not show it.
    """
    parser.add_argument(
        "--repeats", type=int, default=default, metavar="N", help=f"{what} (default {default})"
    )
    parser.add_argument(
        "--rounds", dest="repeats", type=int, default=argparse.SUPPRESS, help=argparse.SUPPRESS
    )

"""How the reader calls this program."""

from kafka_edu.common.python_process import checkout


def program() -> str:
    """Return `./kafka-edu` in a checkout, and `kafka-edu` where the package is installed."""
    return "kafka-edu" if checkout() is None else "./kafka-edu"


def command_line(words: str) -> str:
    """Return the command that a reader can type here: the program's name and `words`.

    Every message that names a command of ours uses this function.
    """
    return f"{program()} {words}"

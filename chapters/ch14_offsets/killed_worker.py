"""Run the program `worker.py` in a separate process, and kill it at the point that is planned."""

import asyncio

from kafka_edu.common.python_process import python_command, python_environment

from . import worker
from .worker import HERE, WORKED, Plan


class WorkerFailed(Exception):
    """The program ended before the point at which it should be killed. Its output says why."""


async def work_and_be_killed(plan: Plan) -> list[int]:
    """Run the program until the point in its plan, and kill it with SIGKILL. Return the numbers of
    the records on which it has worked.

    Raises WorkerFailed.
    """
    return await run_until_here(*python_command(worker.__name__, plan.to_json()))


async def run_until_here(*command: str) -> list[int]:
    """Run a command until it prints HERE, and kill it. Return the numbers of its other lines.

    Raises WorkerFailed.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        env=python_environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    numbers: list[int] = []
    try:
        async for line in process.stdout:
            word, _, number = line.decode().strip().partition(" ")
            if word == HERE:
                return numbers
            assert word == WORKED, line
            numbers.append(int(number))
        raise WorkerFailed(f"the program ended before its point: {' '.join(command)}")
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()

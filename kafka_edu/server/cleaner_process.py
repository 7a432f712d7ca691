"""Run a pass of log compaction in a separate process with low priority (`log.cleaner.worker`)."""

import asyncio
import json
from typing import Final

from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.log.cleaner.clean_job import (
    EXIT_DISK,
    CleanJob,
    CleanResult,
    job_line,
    read_result,
)

WORKER: Final = "kafka_edu.log.cleaner.worker"
_LONGEST_ANSWER: Final = 16 << 20


async def run_in_a_process(job: CleanJob) -> CleanResult:
    """Run the job in a new process and return its result. Raises OSError if the process reported a
    disk error. Raises RuntimeError with the last line of its output if the process died. If the
    caller is cancelled, the process is ended.
    """
    process = await asyncio.create_subprocess_exec(
        *python_command(WORKER),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=python_environment(),
        limit=_LONGEST_ANSWER,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        process.stdin.write(job_line(job))
        await process.stdin.drain()
        answer, said = await asyncio.gather(process.stdout.readline(), process.stderr.read())
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if code == EXIT_DISK:
        number, text = json.loads(answer)
        error = OSError(number, text)
        raise error
    if code != 0:
        words = said.decode(errors="replace").strip().splitlines()
        raise RuntimeError(words[-1] if words else f"the cleaner ended with exit code {code}")
    return read_result(answer)

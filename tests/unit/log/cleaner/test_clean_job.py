"""A job and its result are plain values: another process gets the job and returns the result."""

from kafka_edu.log.cleaner.clean_job import CleanedGroup, CleanResult, Lost, job_line, read_job
from kafka_edu.log.cleaner.log_cleaner_manager import LogCleanerManager
from tests.unit.log.cleaner.world import NOW, compacted, job_of, write


def test_a_job_crosses_to_the_other_process() -> None:
    log = compacted()
    write(log, ("a", "1"), producer_id=9, producer_epoch=0, base_sequence=0)
    log.roll(NOW)
    job = job_of(LogCleanerManager({}).look_at(log, NOW))
    assert job.bases == (0,)
    assert job.last_of_producers == ((9, 0, 0),)
    assert read_job(job_line(job)) == job


def test_what_is_lost_adds_up() -> None:
    assert Lost(1, 2, 3, 4, 5).records == 15
    assert CleanResult(7, (CleanedGroup((0,), 10, 5, 3, Lost()),), 2).corrupt == ""

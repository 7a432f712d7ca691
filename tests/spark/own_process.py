"""The environment of a Spark job that runs in a process of its own."""

from kafka_edu.common.python_process import python_environment


def without_the_gateway_of_this_process() -> dict[str, str]:
    """Return the environment for a job, which starts a JVM of its own."""
    return {
        name: value
        for name, value in python_environment().items()
        if not name.startswith(("PYSPARK_", "SPARK_"))
    }

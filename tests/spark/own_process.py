"""The environment variables of a Spark job that runs in a separate process."""

from kafka_edu.common.python_process import python_environment


def without_the_gateway_of_this_process() -> dict[str, str]:
    """Return the environment for a job in a separate process, without this process's Spark
    variables. So the job starts its own JVM.
    """
    return {
        name: value
        for name, value in python_environment().items()
        if not name.startswith(("PYSPARK_", "SPARK_"))
    }

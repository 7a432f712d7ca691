"""The command line: the command table, demos, benchmarks, the soak, the doctor."""

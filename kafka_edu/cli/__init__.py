"""The command line: the command table, demos, benchmarks, the soak and the doctor."""

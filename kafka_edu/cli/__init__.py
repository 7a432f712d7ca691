"""The command line: table of commands, demos, benchmarks, soak test and doctor."""

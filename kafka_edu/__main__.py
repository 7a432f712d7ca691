"""`python -m kafka_edu`: the command line."""

from kafka_edu.cli.main import main

main()

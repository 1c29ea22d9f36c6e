"""The entry point of a Spark job: the command `cdc` with the job's arguments."""

from cdckit.cli.main import main

main()

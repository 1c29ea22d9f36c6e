"""`python -m cdckit` is the command `cdc`."""

from cdckit.cli.main import main

if __name__ == "__main__":
    main()

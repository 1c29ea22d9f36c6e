"""`python -m cdckit_faults` is `cdckit-faults`."""

from cdckit_faults.cli import program

program()

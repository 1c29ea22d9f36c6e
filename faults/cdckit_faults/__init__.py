"""A ledger of faults: drives a pipeline under seeded faults, and judges what it delivers."""

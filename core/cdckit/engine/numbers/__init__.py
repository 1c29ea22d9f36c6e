"""The numbers of errors and findings: what each means and what to do, in one place."""

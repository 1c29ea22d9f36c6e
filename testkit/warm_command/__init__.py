"""Calls of `cdc` in processes that are forked from one that has imported already what the command imports.

A call that starts Python takes 0.5 to 1.5 s of a processor before it works, nearly all of it for imports; a fork takes
0.01 to 0.05 s. The fork has the caller's files, environment, folder and limits, and ends with the test's process. What
it cannot be as Python would be when it starts, Python is.
"""

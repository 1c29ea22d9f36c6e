"""The Python processes that Spark starts, forked from one that has imported already what they import.

In place of Python, Spark is given a script (`starting`) that connects to that process and waits for its fork to end.
The fork (`caller`) has the script's arguments, environment, folder, limits and standard files, and dies with the script
(`children`).

A process that Spark starts anew takes 0.7 to 1.7 s of a processor before it works, nearly all of it for imports, a part
of them from archives without compiled modules; a fork takes 0.01 to 0.1 s.
"""

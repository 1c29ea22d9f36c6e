"""The Python processes that Spark starts, forked from one that has imported already what they import.

In place of Python, Spark is given a script (`starting`) that connects to that process and waits for its fork to end.
The fork (`caller`) has the script's arguments, environment, folder, limits and standard files, and dies with the script
(`children`).
"""

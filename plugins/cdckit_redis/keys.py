"""The keys of the state store `redis`.

All of a pipeline's keys have its name in braces. Names of pipelines and histories are written as in URLs, so that no
two of them make the same key.
"""

from __future__ import annotations

from urllib.parse import quote

FORMAT = b"1"
"""The version of what is below, which a state has of itself."""


class Keys:
    """Those of one pipeline.

    Args:
        begin: what all keys begin with.
        pipeline: the pipeline's name.

    Attributes:
        state: a hash: the version of the format, and the offset.
        values: a hash: values by name.
        histories: a set: the names of the histories that have entries.
        hold: who holds the state, or held it last.
        alive: the same, until there has been no sign of life for too long.
    """

    def __init__(self, begin: str, pipeline: str) -> None:
        self._begin = f"{begin}:{{{quote(pipeline, safe='')}}}"
        self.state = f"{self._begin}:state"
        self.values = f"{self._begin}:values"
        self.histories = f"{self._begin}:histories"
        self.hold = f"{self._begin}:hold"
        self.alive = f"{self._begin}:alive"

    def history(self, name: str) -> str:
        """A hash: the entries of a history by their positions."""
        return f"{self._begin}:history:{quote(name, safe='')}"

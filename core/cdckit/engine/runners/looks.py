"""What is looked at once while a pipeline runs: its include lists, and the topics that its transforms look for."""

from __future__ import annotations

from cdckit.api.source import Source
from cdckit.engine.chain import TransformChain
from cdckit.engine.notices import RunNotices
from cdckit.engine.runners.sought_topics import SoughtTopics
from cdckit.engine.runners.start import look_at_lists


class Looks:
    """Says what matches nothing.

    Args:
        source: has the lists.
        chain: the transforms.
        notices: tells the lifecycle hooks.
    """

    def __init__(self, source: Source, chain: TransformChain, notices: RunNotices) -> None:
        self._source = source
        self._chain = chain
        self._notices = notices
        self._sought = SoughtTopics()
        self._lists_due = True

    def planned(self) -> None:
        """The source has answered, and can be asked about the lists."""
        if self._lists_due:
            self._lists_due = False
            look_at_lists(self._source, self._notices)

    def delivered(self) -> None:
        """Records went through the transforms."""
        if self._chain.seeks:
            self._sought.look(self._chain.found)

    def ended(self) -> None:
        """There are no more of them."""
        self._sought.add(self._chain.found())
        self._sought.say()

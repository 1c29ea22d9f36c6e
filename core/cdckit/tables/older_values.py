"""What rows have in columns that their source table was given later: with a value, that value.

Those are the rows that a mirror has, and those which only come (the batch holds rows of before the change, or a batch
is written again).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence

from cdckit.tables.layout import Layout
from cdckit.tables.target import Target

log = logging.getLogger("cdckit.tables")

NOTE = "older"
"""The note of the values: by column and source table the position from where on rows have the column themselves, and
the value.
"""


class OlderRows:
    """The older rows of one target.

    Args:
        target: the table.
        mirror: whether its rows are changed; those of a changelog stay as they were appended.
    """

    def __init__(self, target: Target, *, mirror: bool) -> None:
        self._target = target
        self._mirror = mirror
        self._values: dict[str, dict[str, Sequence[str]]] = {}

    def copy(self) -> OlderRows:
        """The same, to be changed."""
        made = OlderRows(self._target, mirror=self._mirror)
        made._values = {name: dict(added) for name, added in self._values.items()}
        return made

    @property
    def values(self) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """By column and history the position from where on rows have it, and the value as text."""
        return self._values if self._mirror else {}

    def load(self, notes: Mapping[str, str]) -> None:
        """Goes on with what is noted about the table."""
        self._values = json.loads(notes.get(NOTE, "{}"))

    def notes(self, changed: OlderRows) -> dict[str, str]:
        """What is to be noted where these have become others."""
        return {} if changed._values == self._values else {NOTE: json.dumps(changed._values)}

    def arrived(
        self, history: str, position: str, layout: Layout, name: str, place: str, *, unseen: bool = False
    ) -> str | None:
        """Takes a column that a source's table has from a position on; one that is `unseen` was left out before.

        Returns:
            the value of the rows that a mirror has; None where that is null, or not known.
        """
        told = dict(layout.older)
        if name not in told and not unseen:
            return None
        text = None if unseen else told[name]
        if text is None or not self._mirror:
            self._say(place, text)
        if text is not None:
            self._values.setdefault(place, {})[history] = (position, text)
        return text if self._mirror else None

    def moved(self, old: str, new: str | None) -> None:
        """A column is called `new` now, or is gone."""
        added = self._values.pop(old, None)
        if added is not None and new is not None:
            self._values[new] = added

    def clear(self) -> None:
        """No row is older than the table any more."""
        self._values = {}

    def _say(self, name: str, text: str | None) -> None:
        if text is None:
            log.warning(
                "table %s: column '%s' was added with values that the source's log does not tell (an expression's, "
                "AUTO_INCREMENT's, those of a column that was left out, or that a transform had given another name); "
                "rows of before have null there until they change, or the table is read anew (cdc resnapshot)",
                self._target,
                name,
            )
        else:
            log.info(
                "table %s: column '%s' was added; a changelog keeps its older rows, which have null there where the "
                "source has %r",
                self._target,
                name,
                text,
            )

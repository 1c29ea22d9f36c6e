"""Plugins with one fault each: changes of those that `cdc plugin new` writes."""

from __future__ import annotations

from cdckit.api.plugins import Kind

Changes = tuple[tuple[str, str], ...]
"""Pieces of the component's module, and what stands in their place."""

TIRES = ("        self._column = config.column_name\n", "        self._column, self._left = config.column_name, 500\n")
BROKEN: list[tuple[Kind, str, Changes]] = [
    ("source", "contract", (('position=f"{end:020d}"', 'position="same"'),)),
    (
        "source",
        "kill",
        (
            (
                '            yield from self._between(split.start["bytes"], split.end["bytes"])\n',
                "            state, begin = self._context.state, split.start['bytes']\n"
                "            begin = max(begin, (state and state.get('handed on')) or 0)\n"
                "            if state:\n"
                "                state.put('handed on', self._end(0))\n"
                '            yield from self._between(begin, split.end["bytes"])\n',
            ),
            ("_BATCH = 1000", "_BATCH = 5"),
        ),
    ),
    ("source", "speed", (("while at < end", "while at < min(end, 5000)"),)),
    ("sink", "contract", (("zip(messages.topics, messages.keys,", "zip(messages.topics, messages.keys[::-1],"),)),
    ("sink", "kill", (("            self._database.commit()", "            pass"),)),
    (
        "sink",
        "speed",
        (
            (
                "        with self._sink_errors():\n            self._database.executemany",
                "        assert len(messages) < 500\n"
                "        with self._sink_errors():\n            self._database.executemany",
            ),
        ),
    ),
    (
        "transform",
        "contract",
        (("replace(value=value.replace(**rows))", 'replace(value=value.replace(**rows), position="")'),),
    ),
    ("transform", "kill", (("text.upper()", "str(hash(text))"),)),
    (
        "transform",
        "speed",
        (
            TIRES,
            (
                "        value = record.value\n",
                "        self._left -= 1\n        assert self._left\n        value = record.value\n",
            ),
        ),
    ),
    (
        "predicate",
        "contract",
        (("bool(row.get(self._column) == self._value)", "(row.get(self._column) == self._value or None)"),),
    ),
    (
        "predicate",
        "kill",
        (
            (
                "        value = record.value\n",
                "        return hash(record.position) % 2 == 0\n        value = record.value\n",
            ),
        ),
    ),
    (
        "predicate",
        "speed",
        (
            TIRES,
            (
                "        value = record.value\n",
                "        self._left -= 1\n        assert self._left\n        value = record.value\n",
            ),
        ),
    ),
    ("serializer", "contract", (("            return None\n        try", '            return b"null"\n        try'),)),
    ("serializer", "kill", (("json.dumps(value, default", "json.dumps([value, hash(str(value))], default"),)),
    (
        "serializer",
        "speed",
        (
            (
                "        self._sorted = config.sort_members\n",
                "        self._sorted, self._left = config.sort_members, 500\n",
            ),
            ("        value = plain(", "        self._left -= 1\n        assert self._left\n        value = plain("),
        ),
    ),
]
"""By kind: the check that has to find it, and the changes."""

"""Every number, and the page that tells of them: `make docs` writes it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from cdckit.engine.numbers import config_errors, findings, record_errors, sink_errors, source_errors, state_errors
from cdckit.engine.numbers.entry import Entry

_FAMILIES: tuple[tuple[str, tuple[Entry, ...]], ...] = (
    ("Findings of `cdc doctor` and `cdc validate --connect`", findings.ENTRIES),
    ("Configuration and usage: exit code 2", config_errors.ENTRIES),
    ("Sources: exit code 3", source_errors.ENTRIES),
    ("Sinks: exit code 4", sink_errors.ENTRIES),
    ("Decoding: exit code 5", record_errors.DECODE),
    ("Transforms and serializers: exit code 6", record_errors.TRANSFORM),
    ("The state: exit code 7", state_errors.STATE),
    ("Unexpected: exit code 1", state_errors.UNEXPECTED),
)

REGISTRY: Mapping[str, Entry] = {entry.number: entry for _, entries in _FAMILIES for entry in entries}
"""By number."""

_HEAD = """\
<!-- generated from core/cdckit/engine/numbers by `make docs`: change that, not this -->

# Errors and findings

Every error of the command line begins with a number, as does every finding of `cdc doctor`:

```
error CDC2201: source.prt: unknown option; did you mean 'port'?
```

The first digit of an error's number is the [exit code](command-line.md#exit-codes); 1 stands for findings, 9 for what
is unexpected. A number keeps its meaning; one that ends in 00 and a digit is the general one of its branch. JSON logs
have it as `number`, `status.json` and `cdc status --json` as `error_number`. `cdc doctor --explain NUMBER` prints a
section of this page.
"""


def explained(number: str) -> str | None:
    """What a number stands for, in Markdown; None where there is no such number."""
    entry = REGISTRY.get(number.strip().upper())
    return None if entry is None else entry.section


def page() -> str:
    """`docs/errors.md`."""
    return "\n".join([_HEAD, *_sections()])


def _sections() -> Iterator[str]:
    for title, entries in _FAMILIES:
        yield f"## {title}\n"
        yield from (entry.section for entry in sorted(entries, key=lambda entry: entry.number))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")

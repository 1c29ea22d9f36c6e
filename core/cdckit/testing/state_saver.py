"""Saves into a state store until the process is killed: `python -m cdckit.testing.state_saver`, as a suite calls it.

What is to be saved into comes by standard input, pickled; a line is printed once a round is saved.
"""

from __future__ import annotations

import pickle
import sys
from itertools import count

from cdckit.api.plugins import make
from cdckit.api.state_store import HistoryEntry, StateStore

ENTRIES = 20
"""How many entries the history `replaced` has, all of one round."""


def save_rounds(store: StateStore) -> None:
    """Saves an offset, a value and entries of two histories in each round, without end."""
    saved = store.load_offset()
    for number in count(1 if saved is None else saved["round"] + 1):
        store.append_history("grown", [HistoryEntry(f"{number:09d}", {"round": number, "text": "é" * 2000})])
        store.replace_history("replaced", (HistoryEntry(f"{n:09d}", {"round": number}) for n in range(ENTRIES)))
        store.put("value", {"round": number})
        store.save_offset({"round": number})
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    registration, config, pipeline = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - the suite's own bytes
    save_rounds(make(registration, config).open(pipeline))

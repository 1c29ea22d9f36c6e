"""Messages that a transaction came to nothing for: left out of the next one, which has all others."""

from __future__ import annotations

from cdckit.api.messages import Messages

_Name = tuple[str, bytes | str]
"""A topic with a key; with a position where there is none, or "" for all of its messages without a key."""


class HeldBack:
    """Messages that were refused in the transaction in hand, or in one that came to nothing for that.

    What comes again may be another reading of the same row, as in a snapshot that begins anew: a message of the same
    key that is no smaller is refused, too. One without a key is known by its position; where the same topic has one
    refused at another position again, it is known by its size alone, for a snapshot gives its rows new positions as
    often as it begins. A message is forgotten once a transaction without it is committed.
    """

    def __init__(self) -> None:
        self._least: dict[_Name, tuple[int, str]] = {}
        self._known: set[tuple[str, str, bytes | None]] = set()
        self._new: set[_Name] = set()
        self._left_out: set[_Name] = set()
        self._before: set[str] = set()
        """The topics that have had messages without a key refused in transactions before the one in hand."""

    def __bool__(self) -> bool:
        return bool(self._least)

    @property
    def fails(self) -> bool:
        """Whether a message was refused in the transaction in hand."""
        return bool(self._new)

    def refused(self, message: Messages, reason: str) -> None:
        """Takes a message that was refused in the transaction in hand, and why."""
        names = [_name(message, 0)]
        if message.keys[0] is None and message.topics[0] in self._before:
            names.append((message.topics[0], ""))
        for name in names:
            least, _ = self._least.get(name, (_size(message, 0), ""))
            self._least[name] = min(_size(message, 0), least), reason
            self._new.add(name)
        self._known.add(_place(message, 0))

    def parted(self, messages: Messages) -> tuple[Messages, list[tuple[Messages, str]]]:
        """The messages that may be written, and of the others those that were not refused yet, with the reason."""
        kept: list[Messages] = []
        others: list[tuple[Messages, str]] = []
        for at in range(len(messages)):
            name = self._name_of(messages, at)
            if name is None:
                kept.append(messages.part(at, at + 1))
                continue
            self._left_out.add(name)
            if _place(messages, at) not in self._known:
                self._known.add(_place(messages, at))
                others.append((messages.part(at, at + 1), self._least[name][1]))
        return (messages if len(kept) == len(messages) else Messages.joined(kept)), others

    def _name_of(self, messages: Messages, at: int) -> _Name | None:
        """By what a message is known as one that is refused; None: it is none of those."""
        names = [_name(messages, at)]
        if messages.keys[at] is None:
            names.append((messages.topics[at], ""))
        for name in names:
            if name in self._least and _size(messages, at) >= self._least[name][0]:
                return name
        return None

    def rolled_back(self) -> None:
        """Another transaction begins, which is to have the messages of this one."""
        self._before |= {topic for topic, key in self._new if isinstance(key, str)}
        self._new.clear()
        self._left_out.clear()

    def committed(self) -> None:
        """What was left out of the transaction in hand comes no more."""
        done = self._new | self._left_out
        # Rows that were read elsewhere before come at those positions no more.
        over = {topic for topic, key in done if isinstance(key, str)}
        self._least = {
            name: least
            for name, least in self._least.items()
            if name not in done and not (isinstance(name[1], str) and name[0] in over)
        }
        self.rolled_back()
        self._before -= over
        if not self._least:
            self._known.clear()


def _name(messages: Messages, at: int) -> _Name:
    key = messages.keys[at]
    return messages.topics[at], messages.positions[at] if key is None else key


def _place(messages: Messages, at: int) -> tuple[str, str, bytes | None]:
    return messages.topics[at], messages.positions[at], messages.keys[at]


def _size(messages: Messages, at: int) -> int:
    return len(messages.keys[at] or b"") + len(messages.values[at] or b"")

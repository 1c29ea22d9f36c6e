"""What a regular expression may cost: whether its matching can need more than linear time.

A backtracking matcher tries the ways in which a text can be matched one after another. There are exponentially many
where, in the automaton of the pattern, two different ways lead from a state back to itself over the same text; and
polynomially many where one state repeats itself, another one does, and one leads to the other, all over the same text
(Weideman et al., "Analyzing Matching Time Behavior of Backtracking Regular Expression Matchers", 2016). Both are looked
for in the position automaton, in products of it with itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

State = tuple[int, ...]
Cost = Literal["linear", "polynomial", "exponential"]

ALPHABET = [chr(code) for code in range(256)] + ["\u2028", "é", "中", "\U0001f600"]
_MOST_COPIES = 3
"""A counted repetition stands for so many copies: more of them are as ambiguous as these."""


@dataclass
class Part:
    """A part of a pattern as a set of positions: where it may begin and end, and whether it may be empty."""

    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    empty: bool = True


@dataclass
class Automaton:
    """Positions, each with the characters that it takes and the positions that may follow."""

    takes: list[frozenset[str]] = field(default_factory=list)
    follows: list[set[int]] = field(default_factory=list)
    doubled: set[tuple[int, int]] = field(default_factory=set)
    """Steps that can be made in two ways, as by either loop of `(a*)*`."""

    def add(self, characters: frozenset[str]) -> Part:
        self.takes.append(characters)
        self.follows.append(set())
        here = frozenset([len(self.takes) - 1])
        return Part(here, here, empty=False)

    def sequence(self, one: Part, two: Part) -> Part:
        self._join(one.last, two.first)
        first = one.first | two.first if one.empty else one.first
        last = one.last | two.last if two.empty else two.last
        return Part(first, last, one.empty and two.empty)

    def loop(self, part: Part) -> None:
        self._join(part.last, part.first)

    def _join(self, ends: frozenset[int], begins: frozenset[int]) -> None:
        for end, begin in product(ends, begins):
            if begin in self.follows[end]:
                self.doubled.add((end, begin))
            self.follows[end].add(begin)

    def cost(self) -> Cost:
        """What matching costs at worst."""
        if any(begin == end or self._reaches((begin,), (end,)) for end, begin in self.doubled):
            return "exponential"
        if self._forks():
            return "exponential"
        return "polynomial" if self._chained() else "linear"

    def _forks(self) -> bool:
        """Whether two different ways lead from a position back to it over one text."""
        graph = self._pairs()
        backwards: dict[State, set[State]] = defaultdict(set)
        for state, following in graph.items():
            for other in following:
                backwards[other].add(state)
        return any(
            any(one != two for one, two in _reached(graph, state) & _reached(backwards, state))
            for state in graph
            if state[0] == state[1]
        )

    def _steps(self, state: State) -> list[State]:
        return [
            following
            for following in product(*(self.follows[position] for position in state))
            if frozenset.intersection(*(self.takes[position] for position in following))
        ]

    def _pairs(self) -> dict[State, list[State]]:
        """The product with itself, from every pair of one position on."""
        graph: dict[State, list[State]] = {}
        todo: list[State] = [(position, position) for position in range(len(self.takes))]
        while todo:
            state = todo.pop()
            if state not in graph:
                graph[state] = self._steps(state)
                todo += graph[state]
        return graph

    def _chained(self) -> bool:
        """Whether p repeats itself, leads to q, and q repeats itself, over one text."""
        looping = [position for position in range(len(self.takes)) if self._reaches((position,), (position,))]
        return any(
            p != q and self.takes[p] and self._reaches((p,), (q,)) and self._reaches((p, p, q), (p, q, q))
            for p, q in product(looping, looping)
        )

    def _reaches(self, start: State, goal: State) -> bool:
        seen: set[State] = set()
        todo = [start]
        while todo:
            for following in self._steps(todo.pop()):
                if following == goal:
                    return True
                if following not in seen:
                    seen.add(following)
                    todo.append(following)
        return False


def _reached(graph: Mapping[State, Iterable[State]], start: State) -> set[State]:
    """The states that can be reached from one in at least a step."""
    found: set[State] = set()
    todo = [start]
    while todo:
        new = set(graph.get(todo.pop(), ())) - found
        found |= new
        todo += new
    return found


_CLASS = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*+\]", re.DOTALL)
_COUNT = re.compile(r"\{(\d*)(,?)(\d*)\}")
_OPEN = re.compile(r"\((?:\?(?:P<\w+>|:|>|=|!|<=|<!|#[^)]*|[aiLmsux-]+:|[aiLmsux]+\)|P=\w+))?")
_ESCAPE = re.compile(r"\\(?:x..|u....|U........|[0-7]{3}|.)", re.DOTALL)
_WHOLE = re.compile(r"\\[bBAZ]")


class PatternReader:
    """Reads a pattern of Python's dialect.

    Attributes:
        automaton: of what it consumes; what it only looks at stands in `aside`.
        aside: the automata of look-aheads, look-behinds and atomic groups.
    """

    def __init__(self, pattern: str, flags: int) -> None:
        self._pattern, self._flags, self._at = pattern, flags, 0
        self.automaton = Automaton()
        self.aside: list[Automaton] = []
        self.asserts = False
        self.whole = self._alternatives()
        assert self._at == len(pattern), f"{pattern!r} is not understood at {self._at}"

    def search(self) -> None:
        """Makes it the automaton of what looks for the pattern anywhere in a text, and is done when it has found it."""
        if not self.asserts:
            for position in self.whole.last:
                self.automaton.takes[position] = frozenset()
        anything = self.automaton.add(frozenset(ALPHABET))
        self.automaton.loop(anything)
        self.automaton.sequence(anything, self.whole)

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _alternatives(self) -> Part:
        part = self._sequence()
        while self._peek() == "|":
            self._at += 1
            other = self._sequence()
            part = Part(part.first | other.first, part.last | other.last, part.empty or other.empty)
        return part

    def _sequence(self) -> Part:
        part = Part()
        while self._peek() and self._peek() not in "|)":
            part = self.automaton.sequence(part, self._repeated())
        return part

    def _repeated(self) -> Part:
        start = self._at
        part = self._one()
        count = _COUNT.match(self._pattern, self._at)
        if not (self._peek() and self._peek() in "*+?") and not (count and (count[1] or count[3])):
            return part
        if count and self._peek() == "{":
            self._at = count.end()
            least, most = int(count[1] or 0), int(count[3] or -1) if count[2] else int(count[1])
        else:
            least, most = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}[self._peek()]
            self._at += 1
        end = self._at
        possessive = self._peek() == "+"
        if self._peek() and self._peek() in "?+":
            self._at += 1
        if possessive:
            return self._atomic(self._pattern[start:end])
        return self._copies(part, start, least, most)

    def _copies(self, part: Part, start: int, least: int, most: int) -> Part:
        behind = self._at
        copies = min(max(least, most, 1), _MOST_COPIES)
        made = Part(part.first, part.last, part.empty or least == 0)
        latest = part
        for number in range(1, copies):
            self._at = start
            latest = self._one()
            made = self.automaton.sequence(made, Part(latest.first, latest.last, latest.empty or number >= least))
        if most < 0:
            self.automaton.loop(latest)
        self._at = behind
        return made

    def _atomic(self, pattern: str) -> Part:
        """A group that gives back nothing: of itself alone, it is one step."""
        inner = PatternReader(pattern, self._flags)
        self.aside += [inner.automaton, *inner.aside]
        taken = frozenset().union(*inner.automaton.takes)
        part = self.automaton.add(taken)
        return Part(part.first, part.last, inner.whole.empty)

    def _one(self) -> Part:
        self._blanks()
        pattern, at = self._pattern, self._at
        if not pattern[at:] or pattern[at] in "|)":
            return Part()
        if pattern[at] == "(":
            return self._group()
        if pattern[at] in "^$" or _WHOLE.match(pattern, at):
            self._at += 2 if pattern[at] == "\\" else 1
            self.asserts = True
            return Part()
        found = _CLASS.match(pattern, at) if pattern[at] == "[" else _ESCAPE.match(pattern, at)
        text = found[0] if found else pattern[at]
        self._at += len(text)
        matches = re.compile(text, self._flags & ~re.VERBOSE).fullmatch
        part = self.automaton.add(frozenset(filter(matches, ALPHABET)))
        self._blanks()
        return part

    def _blanks(self) -> None:
        while self._flags & re.VERBOSE and self._peek() and self._peek() in " \n\t":
            self._at += 1

    def _group(self) -> Part:
        opened = _OPEN.match(self._pattern, self._at)
        assert opened
        start, kind = self._at, opened[0]
        self._at = opened.end()
        if kind.endswith(")") or kind.startswith(("(?#", "(?P=")):
            self._at += not kind.endswith(")")
            return Part()
        before = self._flags
        if re.fullmatch(r"\(\?[a-z]*s[a-z]*:", kind):
            self._flags |= re.DOTALL
        if kind in ("(?=", "(?!", "(?<=", "(?<!", "(?>"):
            end = self._end(opened.end())
            inner = self._pattern[opened.end() : end]
            self._at = end + 1
            if kind == "(?>":
                return self._atomic(inner)
            reader = PatternReader(inner, self._flags)
            self.aside += [reader.automaton, *reader.aside]
            self.asserts = True
            return Part()
        part = self._alternatives()
        assert self._peek() == ")", f"{self._pattern[start:]!r} is not closed"
        self._at += 1
        self._flags = before
        self._blanks()
        return part

    def _end(self, at: int) -> int:
        """Where the group closes that is open at a place."""
        depth = 1
        while True:
            found = (_CLASS.match(self._pattern, at) if self._pattern[at] == "[" else None) or _ESCAPE.match(
                self._pattern, at
            )
            if found:
                at = found.end()
                continue
            depth += {"(": 1, ")": -1}.get(self._pattern[at], 0)
            if depth == 0:
                return at
            at += 1


def cost(pattern: str | bytes, flags: int = 0, *, search: bool = False) -> Cost:
    """What matching a pattern costs at worst.

    Args:
        pattern: of Python's dialect.
        flags: those of `re`.
        search: whether it is looked for anywhere in a text.
    """
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    reader = PatternReader(text, flags)
    if search:
        reader.search()
    costs = [part.cost() for part in (reader.automaton, *reader.aside)]
    return "exponential" if "exponential" in costs else "polynomial" if "polynomial" in costs else "linear"

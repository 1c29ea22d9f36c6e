"""Makes functions of an expression's parts, once; a record is then evaluated without looking at the text again."""

from __future__ import annotations

from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from cdckit import Record
from cdckit_transforms.scripting.fields import CUT, Evaluate, FieldPath, failed, header, variable
from cdckit_transforms.scripting.language import UNDEFINED, EvaluationError, Language, Operation
from cdckit_transforms.scripting.parser import parsed
from cdckit_transforms.scripting.syntax import (
    Binary,
    Call,
    Choice,
    Item,
    ListOf,
    Literal,
    Member,
    Name,
    Node,
    Pattern,
    Unary,
)

Step = Callable[[Any, Record], Any]
"""One step of a chain: of what is before it, and the record."""
_Link = Member | Item | Call
_OF_TEXTS: dict[str, Operation] = {"==": eq, "===": eq, "!=": ne, "!==": ne}
_OF_NUMBERS: dict[str, Operation] = {**_OF_TEXTS, "<": lt, "<=": le, ">": gt, ">=": ge}


def compiled(text: str, language: Language) -> Evaluate:
    """What evaluates an expression.

    Raises:
        ScriptError: the expression is not understood.
    """
    return _Compiler(language).made(parsed(text, language.grammar))


class _Compiler:
    def __init__(self, language: Language) -> None:
        self._language = language

    def made(self, node: Node) -> Evaluate:
        """What evaluates a part."""
        if isinstance(node, Literal | Pattern):
            return _constant(node.value if isinstance(node, Literal) else node.pattern)
        if isinstance(node, Name):
            return variable(node.name, self._language)
        if isinstance(node, ListOf):
            items = [self.made(item) for item in node.items]
            return lambda record: [item(record) for item in items]
        if isinstance(node, Choice):
            return self._choice(node)
        if isinstance(node, Unary):
            return self._unary(node)
        if isinstance(node, Binary):
            return self._binary(node)
        return self._chain(node)

    def _choice(self, node: Choice) -> Evaluate:
        true = self._language.true
        condition, yes, no = self.made(node.condition), self.made(node.yes), self.made(node.no)
        return lambda record: yes(record) if true(condition(record)) else no(record)

    def _unary(self, node: Unary) -> Evaluate:
        operand = self.made(node.operand)
        if node.operator == "!":
            true = self._language.true
            return lambda record: not true(operand(record))
        return _guarded(node.at, lambda value, _: self._language.negative(value), operand, operand)

    def _binary(self, node: Binary) -> Evaluate:
        if node.operator in ("&&", "||"):
            return self._junction(node)
        left, right = self.made(node.left), self.made(node.right)
        if node.operator == "?:":
            return self._either([left, right], stops=True)
        if node.operator == "??":
            return _unless_null(left, right)
        operation = self._language.operations[node.operator]
        if isinstance(node.right, Literal) and (direct := _direct(node.operator, node.right.value)):
            return _compared(node.at, operation, direct, left, node.right.value)
        return _guarded(node.at, operation, left, right)

    def _junction(self, node: Binary) -> Evaluate:
        """`&&` or `||` of as many operands as there are."""
        operands: list[Evaluate] = []
        left: Node = node
        while isinstance(left, Binary) and left.operator == node.operator:
            operands.append(self.made(left.right))
            left = left.left
        operands.append(self.made(left))
        operands.reverse()
        stops = node.operator == "||"
        if self._language.keeps_operands:
            return self._either(operands, stops=stops)
        return _any(operands, self._language.true) if stops else _all(operands, self._language.true)

    def _either(self, operands: list[Evaluate], *, stops: bool) -> Evaluate:
        """The first operand that is true (`stops`) or false, else the last one."""
        true, (*others, last) = self._language.true, operands

        def evaluate(record: Record) -> Any:
            for operand in others:
                value = operand(record)
                if (value is stops) or true(value) is stops:
                    return value
            return last(record)

        return evaluate

    def _chain(self, node: _Link) -> Evaluate:
        """Members, items and calls one after the other."""
        links: list[_Link] = []
        first: Node = node
        while isinstance(first, Member | Item | Call):
            links.insert(0, first)
            first = first.of
        start, rest = self._start(first, links)
        if not rest:
            return start
        steps = [(not isinstance(link, Item) and link.safe, self._step(link)) for link in rest]
        return self._chained(start, steps)

    def _start(self, first: Node, links: list[_Link]) -> tuple[Evaluate, list[_Link]]:
        """What the chain begins with, and the steps that follow."""
        members: list[Member] = []
        if isinstance(first, Name):
            for link in links:
                if not isinstance(link, Member):
                    break
                members.append(link)
        if members and isinstance(first, Name):
            if first.name in ("key", "value"):
                goes_on = len(members) < len(links)
                path = FieldPath(first.name, members, self._language, goes_on=goes_on)
                return path.evaluation(), links[len(members) :]
            if first.name == "header":
                return header(members[0].name, self._language), links[1:]
        return self.made(first), links

    def _chained(self, start: Evaluate, steps: list[tuple[bool, Step]]) -> Evaluate:
        cuts = self._language.absent is UNDEFINED

        def evaluate(record: Record) -> Any:
            value = start(record)
            for safe, step in steps:
                if value is CUT:
                    return UNDEFINED
                if safe and (value is None or value is UNDEFINED):
                    if cuts:
                        return UNDEFINED
                    continue
                value = step(value, record)
            return value

        return evaluate

    def _step(self, link: _Link) -> Step:
        at, language = link.at, self._language
        if isinstance(link, Member):
            name = link.name
            return _failing(at, lambda value, _: language.member(value, name))
        if isinstance(link, Item):
            key = self.made(link.key)
            return _failing(at, lambda value, record: language.item(value, key(record)))
        arguments = [self.made(argument) for argument in link.arguments]
        method, called = language.methods[link.method], link.method

        def call(value: Any, record: Record) -> Any:
            if (value is None and called not in language.null_has) or value is UNDEFINED:
                raise EvaluationError(
                    f"'{called}' is called on {value if value is UNDEFINED else 'null'}; write '?.' before it"
                )
            return method(value, *(argument(record) for argument in arguments))

        return _failing(at, call)


def _constant(value: Any) -> Evaluate:
    return lambda _: value


def _failing(at: int, step: Step) -> Step:
    def guarded(value: Any, record: Record) -> Any:
        try:
            return step(value, record)
        except (EvaluationError, ArithmeticError) as error:
            raise failed(at, error) from None

    return guarded


def _guarded(at: int, operation: Operation, left: Evaluate, right: Evaluate) -> Evaluate:
    def evaluate(record: Record) -> Any:
        first, second = left(record), right(record)
        try:
            return operation(first, second)
        except (EvaluationError, ArithmeticError) as error:
            raise failed(at, error) from None

    return evaluate


def _direct(sign: str, literal: Any) -> Operation | None:
    """What Python has for an operator between values of the literal's type, where it means the same; else None."""
    if literal.__class__ in (int, float):
        return _OF_NUMBERS.get(sign)
    return _OF_TEXTS.get(sign) if literal.__class__ is str else None


def _compared(at: int, operation: Operation, direct: Operation, left: Evaluate, literal: Any) -> Evaluate:
    """A comparison with a literal; mostly the value has the literal's type."""
    own = literal.__class__

    def evaluate(record: Record) -> Any:
        value = left(record)
        if value.__class__ is own:
            return direct(value, literal)
        try:
            return operation(value, literal)
        except (EvaluationError, ArithmeticError) as error:
            raise failed(at, error) from None

    return evaluate


def _unless_null(left: Evaluate, right: Evaluate) -> Evaluate:
    def evaluate(record: Record) -> Any:
        value = left(record)
        return right(record) if value is None or value is UNDEFINED else value

    return evaluate


def _all(operands: list[Evaluate], true: Callable[[Any], bool]) -> Evaluate:
    def evaluate(record: Record) -> bool:
        for operand in operands:
            value = operand(record)
            if value is False or (value is not True and not true(value)):
                return False
        return True

    return evaluate


def _any(operands: list[Evaluate], true: Callable[[Any], bool]) -> Evaluate:
    def evaluate(record: Record) -> bool:
        for operand in operands:
            value = operand(record)
            if value is True or (value is not False and true(value)):
                return True
        return False

    return evaluate

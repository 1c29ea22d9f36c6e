"""Reads an expression of Groovy or JavaScript: what Debezium's users write, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cdckit.java.regex import JavaRegexError, UserPattern, compile_java
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
    ScriptError,
    Unary,
)
from cdckit_transforms.scripting.tokens import Dialect, Token, tokens

VARIABLES = ("key", "keySchema", "value", "valueSchema", "topic", "header")
_LONGEST = 10_000
_DEEPEST = 40
_LONGEST_CHAIN = 60
"""Of operators that each take the result of the one before; `&&` and `||` may be as many as there is room for."""
_CONSTANTS = {"true": True, "false": False, "null": None}
_HINTS = {
    "=": "write '==' to compare",
    "and": "write '&&'",
    "or": "write '||'",
    "not": "write '!'",
    "new": "objects cannot be made",
    ";": "one expression is all that can be evaluated",
    "headers": "it is called 'header'",
    "return": "write the expression alone",
}


@dataclass(frozen=True)
class Grammar:
    """What is particular to a language.

    Attributes:
        dialect: which one it is.
        levels: its operators between two operands, those that bind least first.
        methods: how many arguments each of its methods takes.
        default: the operator whose right operand stands for a left one that is nothing.
    """

    dialect: Dialect
    levels: tuple[tuple[str, ...], ...]
    methods: Mapping[str, range]
    default: str


def parsed(text: str, grammar: Grammar) -> Node:
    """The expression in a text.

    Raises:
        ScriptError: it is not understood.
    """
    if len(text) > _LONGEST:
        raise ScriptError(_LONGEST + 1, f"an expression may have {_LONGEST} characters")
    return _Parser(tokens(text, grammar.dialect), grammar).whole()


class _Parser:
    def __init__(self, found: list[Token], grammar: Grammar) -> None:
        self._tokens = found
        self._grammar = grammar
        self._groovy = grammar.dialect == "groovy"
        self._at = 0
        self._depth = 0

    @property
    def _now(self) -> Token:
        return self._tokens[self._at]

    def whole(self) -> Node:
        node = self._expression()
        self._takes(";")
        if self._now.kind != "end":
            raise self._unexpected()
        return node

    def _takes(self, *signs: str) -> Token | None:
        """The token, if it is one of these; the next one is then the one after it."""
        token = self._now
        if token.text not in signs or token.kind not in ("sign", "name") or self._begins_statement(token):
            return None
        self._at += 1
        return token

    def _begins_statement(self, token: Token) -> bool:
        """Whether the token begins another statement in Groovy, for which a line's end is enough."""
        return self._groovy and token.first and token.text in ("+", "-", "[", "(")

    def _needs(self, sign: str) -> None:
        if not self._takes(sign):
            raise self._unexpected(f"'{sign}' is missing")

    def _unexpected(self, fault: str = "") -> ScriptError:
        token = self._now
        if not fault:
            fault = f"'{token.text}' is not known here" if token.kind != "end" else "something is missing at the end"
        elif token.kind != "end":
            fault += f" before '{token.text}'"
        hint = _HINTS.get(token.text)
        return ScriptError(token.at, f"{fault}: {hint}" if hint else fault)

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ScriptError(self._now.at, "too many parts inside of each other")
        node = self._choice()
        self._depth -= 1
        return node

    def _choice(self) -> Node:
        condition = self._defaulted()
        if not (question := self._takes("?")):
            return condition
        yes = self._expression()
        self._needs(":")
        return Choice(question.at, condition, yes, self._expression())

    def _defaulted(self) -> Node:
        left = self._binary(0)
        if not (sign := self._takes(self._grammar.default)):
            return left
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ScriptError(sign.at, "too many parts inside of each other")
        right = self._defaulted()
        self._depth -= 1
        return Binary(sign.at, sign.text, left, right)

    def _binary(self, level: int) -> Node:
        if level == len(self._grammar.levels):
            return self._unary()
        left, operators, length = self._binary(level + 1), self._grammar.levels[level], 0
        while sign := self._operator(operators):
            length = self._longer(length, sign) if sign.text not in ("&&", "||") else 0
            left = Binary(sign.at, sign.text, left, self._binary(level + 1))
        return left

    def _operator(self, operators: tuple[str, ...]) -> Token | None:
        """One of the operators; Groovy's `!in` is two tokens."""
        start = self._at
        if "!in" in operators and (sign := self._takes("!")):
            if self._takes("in"):
                return Token(sign.at, "sign", "!in")
            self._at = start
        return self._takes(*operators)

    def _longer(self, length: int, token: Token) -> int:
        if length == _LONGEST_CHAIN:
            raise ScriptError(token.at, f"more than {_LONGEST_CHAIN} operators one after the other")
        return length + 1

    def _unary(self) -> Node:
        if not (sign := self._takes("!", "-")):
            return self._postfix()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ScriptError(sign.at, "too many parts inside of each other")
        node = Unary(sign.at, sign.text, self._unary())
        self._depth -= 1
        return node

    def _postfix(self) -> Node:
        node, length = self._operand(), 0
        while sign := self._takes(".", "?.", "["):
            length = self._longer(length, sign)
            if sign.text == "[":
                node = Item(sign.at, node, self._expression())
                self._needs("]")
            else:
                node = self._member(node, safe=sign.text == "?.")
        return node

    def _member(self, of: Node, *, safe: bool) -> Node:
        token = self._now
        quoted = self._groovy and token.kind == "value" and isinstance(token.value, str)
        if token.kind != "name" and not quoted:
            raise self._unexpected("a field's or a method's name is missing")
        self._at += 1
        if self._takes("("):
            return self._call(of, token, safe=safe)
        return Member(token.at, of, token.value if quoted else token.text, safe)

    def _call(self, of: Node, token: Token, *, safe: bool) -> Node:
        takes = self._grammar.methods.get(token.text)
        if takes is None:
            known = ", ".join(sorted(self._grammar.methods))
            raise ScriptError(token.at, f"the method '{token.text}' is not known; these are: {known}")
        arguments = self._listed(")")
        if len(arguments) not in takes:
            most = takes.stop - 1
            wanted = str(takes.start) if takes.start == most else f"{takes.start} to {most}"
            raise ScriptError(token.at, f"'{token.text}' takes {wanted} arguments, not {len(arguments)}")
        return Call(token.at, of, token.text, arguments, safe)

    def _listed(self, end: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while not self._takes(end):
            if items:
                self._needs(",")
            items.append(self._expression())
        return tuple(items)

    def _operand(self) -> Node:
        token = self._now
        self._at += 1
        if token.kind == "value":
            return Literal(token.at, token.value)
        if token.kind == "pattern":
            return Pattern(token.at, _pattern(token))
        if token.kind == "name":
            return self._named(token)
        if token.text == "(":
            node = self._expression()
            self._needs(")")
            return node
        if token.text == "[":
            return ListOf(token.at, self._listed("]"))
        self._at -= 1
        raise self._unexpected()

    def _named(self, token: Token) -> Node:
        if token.text in _CONSTANTS:
            return Literal(token.at, _CONSTANTS[token.text])
        if token.text in VARIABLES or (token.text == "undefined" and not self._groovy):
            return Name(token.at, token.text)
        hint = _HINTS.get(token.text, f"these are: {', '.join(VARIABLES)}")
        raise ScriptError(token.at, f"the name '{token.text}' is not known: {hint}")


def _pattern(token: Token) -> UserPattern:
    source, flags = token.value
    if flags not in ("", "i"):
        raise ScriptError(token.at, f"the flags '{flags}' of a regular expression are not known; 'i' is")
    try:
        return compile_java(source, ignore_case=bool(flags))
    except JavaRegexError as error:
        raise ScriptError(token.at, str(error)) from None

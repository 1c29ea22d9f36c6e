"""Random expressions of Groovy and JavaScript about the events of `expressions-input.jsonl`."""

from __future__ import annotations

from random import Random

FIELDS = ("id", "big", "name", "price", "amount", "flag", "tags", "state", "small")
OTHERS = ("value.op", "topic", "key.id", "header.idh", "value.source.table", "header.who?.value", "header.idh?.value")
LITERALS = ("1", "2", "50", "3", "0", "1.5", "12.50", "''", "'a'", "'A'", "'2'", "'Ada'", "'50'", "null", "true",
            "false", "'12.5'", "7", "-4", "' 3 '")  # fmt: skip
OWN_LITERALS = {"groovy": ("[1, 2]", "['a','b']", "1.5d", "2L"), "javascript": ("undefined", "[1, 2]")}
OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "&&", "||")
OWN_OPERATORS = {"groovy": ("in", "?:", "<=>", "==~", "=~", "!in"), "javascript": ("===", "!==", "??")}
METHODS = {
    "groovy": ("length()", "toUpperCase()", "startsWith('A')", "contains('a')", "isEmpty()", "size()", "substring(1)",
               "equals('Ada')", "toString()", "trim()", "indexOf('a')", "matches('A.*')", "equals(2)",
               "compareTo('b')", "replace('a','b')", "toInteger()", "toBigDecimal()", "intValue()"),
    "javascript": ("length", "toUpperCase()", "startsWith('A')", "includes('a')", "substring(1)", "toString()",
                   "trim()", "indexOf('a')", "slice(-1)", "charAt(1)", "split('')", "concat(1)"),
}  # fmt: skip


def random_expression(language: str, random: Random, depth: int) -> str:
    """An expression with at most so many parts inside of each other."""
    if depth == 0:
        return _operand(language, random)
    kind = random.random()

    def part() -> str:
        return random_expression(language, random, depth - 1)

    if kind < 0.55:
        operator = random.choice([*OPERATORS, *OWN_OPERATORS[language]])
        return f"({part()} {operator} {part()})"
    if kind < 0.65:
        return f"({part()} ? {part()} : {part()})"
    if kind < 0.76:
        return f"(!{part()})" if kind < 0.72 else f"(-{part()})"
    return f"{part()}{random.choice(['?.', '?.', '.'])}{random.choice(METHODS[language])}"


def _operand(language: str, random: Random) -> str:
    kind = random.random()
    if kind < 0.5:
        return f"value.{random.choice(['before', 'after'])}?.{random.choice(FIELDS)}"
    return random.choice(OTHERS if kind < 0.6 else [*LITERALS, *OWN_LITERALS[language]])

"""Java's patterns and replacement strings. What is expected here is what java.util.regex answers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cdckit.connector.signals import Signal, SnapshotRequest
from cdckit.errors import ConfigError
from cdckit.java.regex import JavaRegexError, Replacement, compile_java, split_patterns


@pytest.mark.parametrize(
    ("pattern", "whole", "other"),
    [
        (r"(.*)orders_\d+", "shop.orders_12", "shop.orders_x"),
        (r"shop\..*", "shop.customers", "shopXcustomers"),
        (r"\w+", "orders_1", "bestellungen_ä"),
        (r"\d+", "12", "١٢"),
        (r"\s\S", " a", "\u2003a"),
        (r"(?<n>a+)-\k<n>", "aa-aa", "aa-a"),
        (r"(a)(b)\2\1", "abba", "abab"),
        (r"(a)\10", "aa0", "a"),
        (r"[a-z&&[^aeiou]]+", "xyz", "xay"),
        (r"[a-c[x-z]]+", "ax", "am"),
        (r"[^a[bc]]", "d", "b"),
        (r"[]a]+", "]a", "b"),
        (r"[\w&&[^\d]]+", "ab_", "a1"),
        (r"[\Qa-]\E]+", "a-]", "b"),
        (r"[a&&]+", "aa", "&"),
        (r"\Qa.b\E+", "a.bb", "axb"),
        (r"a*+a|b", "b", "aa"),
        (r"a{1,2}+b", "aab", "aaab"),
        (r"(?>a+)b", "aab", "aac"),
        (r"a(?i)b|c", "C", "Ab"),
        (r"a(?i:b)c", "aBc", "abC"),
        (r"(?i)é", "é", "É"),
        (r"(?iu)é", "É", "e"),
        (r"(?i)a(?-i)b", "Ab", "aB"),
        (r"(?i)[a-z&&[b]]", "B", "A"),
        (r"(?i)[a[^b]]", "A", "B"),
        (r"(?i)k", "K", "\u212a"),
        (r"é(?iu:é)", "éÉ", "ÉÉ"),
        (r"(?i)(a)\1", "aA", "ab"),
        (r".", "x", "\u2028"),
        (r"(?s).", "\n", ""),
        (r"\p{Alpha}\p{Digit}\p{Punct}", "a1!", "é1!"),
        (r"\p{Lu}\pL\p{IsNd}", "Éa1", "éa1"),
        (r"\P{L}+", "123", "1a3"),
        (r"\x41\u0042\x{43}\0104\t", "ABCD\t", "ABCD"),
        (r"\R", "\r\n", "\n\r"),
        (r"\R\n", "\r\n", "\n\r"),
        (r"a\z", "a", "a\n"),
        (r"\h\v", "\xa0\x85", "ab"),
        ("}]", "}]", "{["),
    ],
)
def test_a_pattern_means_what_it_means_in_java(pattern: str, whole: str, other: str) -> None:
    compiled = compile_java(pattern)
    assert compiled.fullmatch(whole)
    assert not compiled.fullmatch(other)


def test_case_is_ignored_for_ascii_letters_alone() -> None:
    compiled = compile_java(r"shop\.Größe_[a-c]\p{Lower}", ignore_case=True)
    assert compiled.fullmatch("SHOP.GRößE_BX")
    assert not compiled.fullmatch("SHOP.GRÖßE_BX")


@pytest.mark.parametrize("text", ["a", "a\n", "a\r\n", "a\u2028"])
def test_a_dollar_stands_before_the_last_line_end(text: str) -> None:
    assert compile_java("a$").replace_first(lambda _found: "b", text) == f"b{text[1:]}"


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("a{b}", r"write '\{'"),
        ("(a", "')' is missing"),
        ("a)", "closes no group"),
        ("[a", "not closed"),
        ("[b-a]", "backwards"),
        ("*a", "nothing to repeat"),
        (r"\y", r"'\y' at index 0"),
        ("a\\", "at index 1"),
        (r"\N{NO SUCH LETTER}", "NO SUCH LETTER"),
        (r"\x{110000}", "0x110000"),
        ("(?P<n>a)", "opens no known group"),
        ("(?x)a", "flag 'x'"),
        (r"\p{IsLatin}", "IsLatin"),
        (r"\Ga", r"\G"),
        (r"\b{g}", r"\b{g}"),
        ("(?<=a+)b", "look-behind"),
        (r"(?iu)(é)\1", "back reference"),
    ],
)
def test_what_cannot_be_said_is_refused_by_name(pattern: str, said: str) -> None:
    with pytest.raises(JavaRegexError) as refused:
        compile_java(pattern)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("pattern", "template", "text", "becomes"),
    [
        ("(.*)shard_(.*)", "$1shards_all", "g.db.shard_12", "g.db.shards_all"),
        ("(?<db>.*)_(?<n>.)", "${n}-${db}", "shop_1", "1-shop"),
        ("(a)", "$12", "a", "a2"),
        ("(a)|b", "[$1]", "b", "[]"),
        ("a", r"\$1\\x\y", "a", r"$1\xy"),
        ("a", "$0$0", "a", "aa"),
    ],
)
def test_a_replacement_means_what_it_means_in_java(pattern: str, template: str, text: str, becomes: str) -> None:
    compiled = compile_java(pattern)
    assert compiled.replace_first(Replacement(template, compiled), text) == becomes


@pytest.mark.parametrize(
    ("template", "said"),
    [("$2", "no group 2"), ("${x}", "'x'"), ("$x", "group's number"), ("$", "group's number"), ("a\\", "cannot end")],
)
def test_a_wrong_replacement_is_refused_before_it_is_used(template: str, said: str) -> None:
    with pytest.raises(JavaRegexError) as refused:
        Replacement(template, compile_java("(a)"))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        (r"shop.orders_\d+,shop.customers", [r"shop.orders_\d+", "shop.customers"]),
        (r" a , b\,c ,, ", ["a", "b,c"]),
        (r"a\\,b", [r"a\\", "b"]),
        ("", []),
    ],
)
def test_a_list_is_split_at_commas_that_are_not_escaped(text: str, patterns: list[str]) -> None:
    assert split_patterns(text) == patterns


ENDLESS = [("(a|aa)+b", "a" * 90), ("((((.*)*)*)*)*x", "a" * 90), (r"(\w|\w\w)*!", "a" * 90)]
_MATCH = f"""
from cdckit.connector.include_lists import Choice
from cdckit.errors import ConfigError
from cdckit.java.regex.topic_rewrite import TopicRewrite
for pattern, name in {ENDLESS!r}:
    for use in (Choice(pattern, "", "table"), TopicRewrite(pattern, "x", "topic.regex")):
        try:
            print(bool(use(name)))
        except ConfigError as error:
            print(error)
"""


def test_no_pattern_matches_for_ever() -> None:
    done = subprocess.run([sys.executable, "-c", _MATCH], check=True, timeout=120, capture_output=True, text=True)
    told = done.stdout.splitlines()
    assert len(told) == 2 * len(ENDLESS)
    assert told[0].startswith("table.include.list: the pattern '(a|aa)+b' takes more than 2 s to match 'aaa")
    assert told[1].startswith("topic.regex: the pattern '(a|aa)+b' takes more than 2 s to match 'aaa")
    assert set(told[2:4]) == {"False"}


def test_a_signals_pattern_is_named() -> None:
    signal = Signal("s1", "execute-snapshot", {"data-collections": ["(a|aa)+b"]})
    with pytest.raises(ConfigError, match=r"^data-collections: the pattern '\(a\|aa\)\+b' takes more than 2 s"):
        SnapshotRequest.of(signal).chosen(["a" * 90])


def test_what_a_pattern_finds_is_told_split_at_and_replaced() -> None:
    pattern = compile_java("[,;]")
    assert pattern.found("a,b")
    assert not pattern.found("ab")
    assert pattern.split("a,b;;c,") == ["a", "b", "", "c", ""]
    assert compile_java("").split("ab") == ["a", "b", ""]
    assert pattern.replace_all(Replacement("<$0>", pattern), "a,b;") == "a<,>b<;>"


@pytest.mark.parametrize("use", ["found", "split"])
def test_what_is_looked_for_is_not_looked_for_for_ever(use: str) -> None:
    with pytest.raises(ConfigError, match="takes more than 2 s"):
        getattr(compile_java("(a|aa)+b"), use)("a" * 90)

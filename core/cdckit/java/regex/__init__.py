r"""Java's regular expressions and replacement strings, as Debezium's and Kafka Connect's options hold them.

Patterns follow `java.util.regex.Pattern` of Java 21 and are translated to Python's dialect: both ways of writing named
groups, possessive quantifiers, character class unions and intersections, POSIX and Unicode categories, `\Q…\E`, flags
in the middle of a pattern. What has no counterpart is refused by name.
"""

from __future__ import annotations

from cdckit.java.regex.bounded import UserPattern
from cdckit.java.regex.error import JavaRegexError
from cdckit.java.regex.option import JavaRegex, split_patterns
from cdckit.java.regex.replacement import Replacement
from cdckit.java.regex.translate import compile_java

__all__ = ["JavaRegex", "JavaRegexError", "Replacement", "UserPattern", "compile_java", "split_patterns"]

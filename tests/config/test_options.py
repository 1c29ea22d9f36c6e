"""What a model says about its options, for tables."""

from __future__ import annotations

from cdckit.engine.config.options import Option, options_of
from testkit.scripted.config import FailingConfig, NoOptions, ScriptedConfig


def test_each_option_is_told_in_words() -> None:
    assert options_of(ScriptedConfig) == [
        Option("topic.prefix", "text", False, "scripted", "The pipeline's name.", old_names=("server.name",)),
        Option("script", "path", True, "", "The file of JSON lines to play."),
        Option("password", "password", False, "", "A secret."),
        Option("port", "whole number above 0", False, "3306", "A number."),
        Option("mode", "choice", False, "fast", "A choice.", choices=("fast", "slow")),
        Option("tags", "list", False, "", "A list."),
        Option("statement.*", "options", False, "", "Statements by table."),
    ]
    assert [option.name for option in options_of(FailingConfig)] == ["bootstrap.servers", "producer.*"]
    assert options_of(NoOptions) == []

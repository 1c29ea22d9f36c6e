"""Pipelines whose state is in an object store, killed at random instants, with nothing left on their machine."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from crash.forgetful_kills import kill_and_prove
from s3_state.places import forgetful, make_bucket
from testkit.servers.mysql import MySQLServer
from testkit.servers.object_store import ObjectStore


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_out_of_order(
    mysql_server: MySQLServer,
    object_store: ObjectStore,
    unique_name: str,
    tmp_path: Path,
    nightly: bool,
    afterwards: ExitStack,
) -> None:
    bucket = make_bucket(object_store, unique_name)
    kill_and_prove(
        mysql_server,
        unique_name,
        tmp_path,
        lambda source, sink: forgetful(tmp_path, source, sink, object_store, bucket),
        afterwards,
        nightly=nightly,
    )

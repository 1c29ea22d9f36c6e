"""MySQL 9: Debian unstable's server, run through unstable's own dynamic linker on any older system."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import ClassVar

from testkit.servers.apt import extract_from_unstable
from testkit.servers.cache import cached
from testkit.servers.mysql_family import Installation, SQLServer, daemon_user
from testkit.servers.process import run
from testkit.servers.server import Option

_HOME = "CDCKIT_MYSQL_HOME"
_OLDEST = 8
_LINKED_PACKAGES = re.compile(
    r"mysql-server-core(-[\d.]+)?|libc6|libgcc-s1|libstdc\+\+6|libicu\d+|libssl\d\S*|libzstd1|libprotobuf-lite\S*|zlib1g"
    r"|liblz4-1|libaio1\S*|libnuma1|libgoogle-perftools\S*|libtcmalloc-minimal\S*|libxxhash0|libunwind8|liblzma5"
)
"""What mysqld links; the rest of its dependencies serve plugins and scripts."""
_LEFT_OUT = (
    "./usr/share/doc*",
    "./usr/share/man*",
    "./usr/share/locale*",
    "*/gconv/*",
    "*/debug/*",
    "./usr/lib/mysql/plugin/[dglrt]*",
)
_UNSAFE_AND_FAST: Mapping[str, Option] = {
    "innodb_flush_method": "nosync",
    "innodb_doublewrite": "OFF",
    "innodb_redo_log_capacity": "64M",
}


class MySQLServer(SQLServer):
    """MySQL 9 with row-based logging of full rows, full row metadata, statements and GTIDs."""

    defaults: ClassVar[Mapping[str, Option]] = {
        **_UNSAFE_AND_FAST,
        "server_id": 13397,
        "log_bin": "binlog",
        "binlog_row_image": "FULL",
        "binlog_row_metadata": "FULL",
        "binlog_rows_query_log_events": "ON",
        "gtid_mode": "ON",
        "enforce_gtid_consistency": "ON",
        "sync_binlog": 0,
        "innodb_flush_log_at_trx_commit": 2,
        "innodb_buffer_pool_size": "128M",
        "performance_schema": "OFF",
        "skip_name_resolve": True,
        "mysqlx": "OFF",
        "secure_file_priv": "NULL",
    }

    def installation(self) -> Installation:
        """Use ``$CDCKIT_MYSQL_HOME``, a ``mysqld`` of MySQL 8 or newer on PATH, or Debian unstable's."""
        if home := os.environ.get(_HOME):
            return _installed(Path(home) / "bin" / "mysqld")
        return _on_path() or _downloaded()

    def initialize(self, installation: Installation, datadir: Path) -> None:
        """Make the system tables (``mysqld --initialize-insecure``)."""
        options = {**_UNSAFE_AND_FAST, "user": daemon_user(), "datadir": str(datadir), "skip_log_bin": True}
        installation.run({**options, "initialize_insecure": True})
        (datadir / "auto.cnf").unlink(missing_ok=True)


@cache
def _on_path() -> Installation | None:
    program = shutil.which("mysqld")
    if program is None or _version(Path(program)) is None:
        return None
    return _installed(Path(program))


@cache
def _installed(program: Path) -> Installation:
    return Installation(name=f"mysql-{_version(program)}", command=(str(program), "--no-defaults"))


def _version(program: Path) -> str | None:
    """Return the version of a MySQL server, None for MariaDB's and for MySQL before 8."""
    printed = run([program, "--no-defaults", "--version"])
    found = re.search(r"Ver (\d+)(\.\S+)", printed)
    if found is None or "MariaDB" in printed or int(found.group(1)) < _OLDEST:
        return None
    return found.group(1) + found.group(2)


@cache
def _downloaded() -> Installation:
    usr = (
        cached(
            "mysql-9",
            lambda root: extract_from_unstable("mysql-server-core", _LINKED_PACKAGES, root, _LEFT_OUT),
        )
        / "usr"
    )
    return Installation(
        name="mysql-9",
        command=(
            str(usr / "lib64/ld-linux-x86-64.so.2"),
            "--library-path",
            str(usr / "lib/x86_64-linux-gnu"),
            str(usr / "sbin/mysqld"),
            "--no-defaults",
            f"--basedir={usr}",
            f"--lc-messages-dir={usr}/share/mysql",
            f"--character-sets-dir={usr}/share/mysql/charsets",
            f"--plugin-dir={usr}/lib/mysql/plugin",
        ),
    )

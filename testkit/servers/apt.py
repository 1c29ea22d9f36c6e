"""Debian packages: installed into the system, or from unstable into a folder of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from testkit.servers.cache import exclusive
from testkit.servers.errors import ServerUnavailableError
from testkit.servers.process import run

_UNSTABLE_CONFIG = """\
Dir::Etc::sourcelist "{apt}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "{apt}/state";
Dir::State::status "/dev/null";
Dir::Cache "{apt}/cache";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
"""
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def ensure_program(program: str, *packages: str) -> Path:
    """Return the path of ``program``, installing the first of ``packages`` that exists when it is missing.

    Raises:
        ServerUnavailableError: it is missing and cannot be installed here.
    """
    if found := _which(program):
        return found
    install(program, packages, lambda: _which(program) is not None)
    if found := _which(program):
        return found
    raise ServerUnavailableError(f"the package {packages[0]} was installed and brought no {program}")


def install(what: str, packages: Sequence[str], is_there: Callable[[], bool]) -> None:
    """Install the first of ``packages`` that this system's release has, for the sake of ``what``.

    Args:
        what: is missing.
        packages: names of the one that brings it, in different releases.
        is_there: whether somebody else has installed it while this waited for its turn.

    Raises:
        ServerUnavailableError: this user may not, or the system has no apt, or knows none of the packages.
    """
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise ServerUnavailableError(
            f"{what} is not installed and this user cannot install it: have root run `apt-get install {packages[0]}`"
        )
    with exclusive("apt"):
        if not is_there():
            _install_first(packages)


def _install_first(packages: Sequence[str]) -> None:
    apt_get = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    with suppress(ServerUnavailableError):  # a repository of no concern may fail; what matters shows below
        run([*apt_get, "update"])
    failures = []
    for package in packages:
        command = [*apt_get, "install", "--yes", "--no-install-recommends", package]
        try:
            run(command, env={"DEBIAN_FRONTEND": "noninteractive"}, interruptible=False)
        except ServerUnavailableError as error:
            failures.append(str(error))
        else:
            return
    raise ServerUnavailableError("\n".join(failures))


def extract_from_unstable(package: str, needed: re.Pattern[str], folder: Path, leave_out: Iterable[str]) -> None:
    """Unpack ``package`` of Debian unstable and what it needs into ``folder``.

    Nothing of the system is touched: apt works on lists and a package status of its own.

    Args:
        package: the package to get.
        needed: names of the packages to unpack out of everything that installing ``package`` would install.
        folder: where to; it becomes the root of a small system.
        leave_out: patterns of paths to leave out, for tar's ``--exclude``.

    Raises:
        ServerUnavailableError: this is no Debian, or the packages cannot be downloaded.
    """
    if shutil.which("apt-get") is None or not _KEYRING.exists():
        raise ServerUnavailableError(f"{package} comes from Debian's archive, and this system is not Debian")
    apt = folder / "apt"
    excludes = [f"--exclude={pattern}" for pattern in leave_out]
    for archive in _download_from_unstable(package, needed, apt):
        contents = apt / "contents.tar"
        with contents.open("wb") as out:
            subprocess.run(["dpkg-deb", "--fsys-tarfile", archive], stdout=out, check=True)
        run(["tar", "-xf", contents, "-C", folder, *excludes])
    shutil.rmtree(apt)


def _download_from_unstable(package: str, needed: re.Pattern[str], apt: Path) -> list[Path]:
    archives = apt / "archives"
    for part in ("state/lists/partial", "cache/archives/partial", "archives"):
        (apt / part).mkdir(parents=True)
    (apt / "sources.list").write_text(f"deb [signed-by={_KEYRING}] {_mirror()} sid main\n")
    (apt / "apt.conf").write_text(_UNSTABLE_CONFIG.format(apt=apt))
    apt_get = ["apt-get", "-c", str(apt / "apt.conf"), "-qq"]
    run([*apt_get, "update"])
    plan = run([*apt_get, "--simulate", "install", package])
    wanted = [name for name in re.findall(r"^Inst (\S+)", plan, re.MULTILINE) if needed.fullmatch(name)]
    run([*apt_get, "download", *wanted], cwd=archives)
    return sorted(archives.glob("*.deb"))


def _mirror() -> str:
    """Return the Debian mirror which this system's apt uses."""
    found = re.search(r"'(\S+/debian/+)dists/", run(["apt-get", "--print-uris", "update"]))
    if found is None:
        raise ServerUnavailableError("this system's apt names no Debian mirror")
    return found.group(1)


def _which(program: str) -> Path | None:
    """Find ``program``, also where daemons live, which is not on every user's PATH."""
    found = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    return Path(found) if found else None


def download(package: str, folder: Path) -> Path:
    """Unpack a package of this system's release into a folder, without what it needs, and without installing it.

    Raises:
        ServerUnavailableError: the system has no apt, or does not know the package.
    """
    if shutil.which("apt-get") is None:
        raise ServerUnavailableError(f"{package} comes from Debian's packages, and this system has no apt-get")
    get = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package]
    try:
        run(get, cwd=folder)
    except ServerUnavailableError:
        with exclusive("apt"):
            run(["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", "update"])
        run(get, cwd=folder)
    unpacked = folder / "unpacked"
    run(["dpkg-deb", "-x", next(folder.glob("*.deb")), unpacked])
    return unpacked

"""A mirror that somebody removes while its pipeline goes on."""

from __future__ import annotations

import shutil
import subprocess
import sys

from delta_sink.shop import Shop


def test_it_has_what_changes_from_then_on_until_it_is_read_again(shop: Shop) -> None:
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    shop.deliver()
    shutil.rmtree(shop.table("t"))
    shop.run("UPDATE t SET v = 20 WHERE id = 2")
    shop.deliver()
    assert shop.unequal() == {"t"}
    again = [sys.executable, "-m", "cdckit", "resnapshot", str(shop.pipeline().written()), "--table", f"{shop.name}.t"]
    subprocess.run(again, check=True, capture_output=True)
    shop.run("UPDATE t SET v = 30 WHERE id = 3")
    shop.deliver()
    shop.assert_equal(["t"])

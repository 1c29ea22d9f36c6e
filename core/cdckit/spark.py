"""The data source for Spark queries of your own: `spark.dataSource.register(CdckitDataSource)`."""

from cdckit.engine.spark.release import require_release

require_release()  # an older release would fail in the import below, and say less

from cdckit.engine.spark.datasource import CdckitDataSource  # noqa: E402

__all__ = ["CdckitDataSource"]

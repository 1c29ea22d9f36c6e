"""The data source for Spark queries of your own: `spark.dataSource.register(CdckitDataSource)`."""

from cdckit.engine.spark.datasource import CdckitDataSource

__all__ = ["CdckitDataSource"]

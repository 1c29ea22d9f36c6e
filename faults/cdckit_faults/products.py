"""The products that can be driven."""

from __future__ import annotations

from cdckit_faults.drivers.cdckit import Cdckit
from cdckit_faults.drivers.cdckit_kafka import CdckitKafka
from cdckit_faults.drivers.cdckit_spark import CdckitSpark
from cdckit_faults.drivers.debezium import Debezium
from cdckit_faults.drivers.driver import Driver
from cdckit_faults.series import Product

PRODUCTS: dict[str, tuple[type[Driver], ...]] = {"cdckit": (Cdckit, CdckitKafka, CdckitSpark), "debezium": (Debezium,)}
"""The drivers of each product, one a lane."""


def product(name: str) -> Product:
    """A product by its name."""
    return Product(PRODUCTS[name])

"""Durable memory of the detector: runs, steps, findings, directives and their acknowledgements, transitions, audit.

One writer owns all writing. Only directives wait for their commit; everything else passes through a bounded queue.
"""

from spanward_detector.store.base import Row, Store, StoreError, StoreSettings
from spanward_detector.store.sqlite import FILE_NAME, SqliteStore, open_for_reading

__all__ = ["FILE_NAME", "Row", "SqliteStore", "Store", "StoreError", "StoreSettings", "open_for_reading"]

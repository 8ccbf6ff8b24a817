"""Bring a database to the schema of this release, by the migrations that ship with the package."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from spanward_detector.store.base import StoreError

HEAD: Final = "0001"
"""Newest migration; a database that says so needs no Alembic, whose import alone costs half a second."""

_MIGRATIONS: Final = Path(__file__).parent / "migrations"


def upgrade(connection: sqlite3.Connection) -> None:
    """Run the migrations that are missing.

    Raises:
        StoreError: the database is of a newer release.
    """
    current = _current(connection)
    if current == HEAD:
        return
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError
    from sqlalchemy import create_engine
    from sqlalchemy.pool import StaticPool

    engine = create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    try:
        with engine.connect() as bound:
            # whole or not at all: a process killed in between leaves the old schema
            bound.exec_driver_sql("BEGIN IMMEDIATE")
            config.attributes["connection"] = bound
            command.upgrade(config, "head")
            bound.commit()
    except CommandError as error:
        raise StoreError(
            f"the database is at schema {current}, which this release does not know: "
            "use the release that wrote it, or another --data-dir"
        ) from error


def _current(connection: sqlite3.Connection) -> str | None:
    try:
        found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.OperationalError:
        return None
    return str(found[0]) if found else None

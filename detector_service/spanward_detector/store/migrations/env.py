"""Alembic's entry: the connection comes from the store, which owns the database while the detector runs."""

from alembic import context
from spanward_detector.store.tables import METADATA
from sqlalchemy import Connection

_connection = context.config.attributes["connection"]
assert isinstance(_connection, Connection)
context.configure(connection=_connection, target_metadata=METADATA, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()

"""SQLite in particular: group commit, bounded queue, retention, migrations, sudden death."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from spanward_detector.run_lifecycle import Life
from spanward_detector.store import Row, SqliteStore, StoreError, StoreSettings, migrate, open_for_reading, tables
from spanward_detector.store.records import run_row
from spanward_detector.store.statements import COLUMNS, SQL
from sqlalchemy import create_engine
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from tests.detector.service_fakes import eventually, make_step

DAY_NS = 86_400 * 10**9


def store_at(path: Path, **settings: object) -> SqliteStore:
    store = SqliteStore(path / "spanward.db", StoreSettings(**settings))
    store.open()
    return store


def row(run_id: str, updated_ns: int = 1) -> Row:
    return run_row(Life(run_id, started_ns=updated_ns, updated_ns=updated_ns))


async def test_the_migrations_lead_to_the_tables(tmp_path: Path) -> None:
    """A fresh database has exactly the schema that the code speaks of."""
    store_at(tmp_path).close()
    with create_engine(f"sqlite:///{tmp_path / 'spanward.db'}").connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), tables.METADATA)

    assert differences == []


def test_the_newest_migration_is_the_one_that_is_looked_for() -> None:
    """Alembic is skipped when the database is at HEAD, so HEAD has to be right."""
    directory = Path(migrate.__file__).parent / "migrations"

    assert ScriptDirectory(str(directory)).get_current_head() == migrate.HEAD


def test_the_tables_can_be_made_on_postgresql() -> None:
    """Nothing in the schema is particular to SQLite."""
    for table in tables.METADATA.sorted_tables:
        assert "CREATE TABLE" in str(CreateTable(table).compile(dialect=postgresql.dialect()))


def test_statements_take_as_many_values_as_rows_have() -> None:
    """One question mark per column."""
    assert {name: sql.count("?") for name, sql in SQL.items()} == {name: len(c) for name, c in COLUMNS.items()}


def test_a_database_of_a_newer_release_is_left_alone(tmp_path: Path) -> None:
    """It is refused with what to do, not migrated backwards."""
    store_at(tmp_path).close()
    with sqlite3.connect(tmp_path / "spanward.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(StoreError, match="use the release that wrote it"):
        store_at(tmp_path)


def test_two_detectors_cannot_share_a_database(tmp_path: Path) -> None:
    """The second one is told whose fault it is; once the first is gone, it may."""
    first = store_at(tmp_path)
    with pytest.raises(StoreError, match="another detector"):
        store_at(tmp_path)
    first.close()

    store_at(tmp_path).close()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    """What lies there is not overwritten."""
    (tmp_path / "spanward.db").write_bytes(b"my diary" * 1000)

    with pytest.raises(StoreError, match="cannot be opened"):
        store_at(tmp_path)
    assert (tmp_path / "spanward.db").read_bytes().startswith(b"my diary")


async def test_commits_that_wait_together_share_a_transaction(tmp_path: Path) -> None:
    """A thousand commits take far fewer transactions than a thousand."""
    store = store_at(tmp_path)
    transactions = 0
    inner = store._writer._transact

    def counted(*args: object) -> None:
        nonlocal transactions
        transactions += 1
        inner(*args)

    store._writer._transact = counted
    await asyncio.gather(*(store.commit(row(f"r{n}")) for n in range(1000)))
    store.close()

    assert transactions + store.counters["at_once"] < 500
    assert store.counters["commits"] + store.counters["at_once"] == 1000


async def test_a_lone_commit_does_not_wait_for_a_thread(tmp_path: Path) -> None:
    """It is in the database when the call returns; the next one, on its heels, is the writer's."""
    store = store_at(tmp_path)
    first, second = store.commit(row("r1")), store.commit(row("r2"))

    assert first.done()
    assert not second.done()
    assert "r1" in {r["run_id"] for r in store.list_runs()}
    await second
    store.close()
    assert (store.counters["at_once"], store.counters["commits"]) == (1, 1)


async def test_a_commit_never_makes_the_loop_wait_for_another_writer(tmp_path: Path) -> None:
    """While somebody else writes it is left to the thread that may wait."""
    store = store_at(tmp_path)
    with sqlite3.connect(tmp_path / "spanward.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = store.commit(row("r1"))
        assert not waiting.done()
        other.execute("ROLLBACK")
    await waiting

    store.close()
    assert (store.counters["at_once"], store.counters["commits"]) == (0, 1)


async def test_a_store_that_waits_for_the_disk_never_does_so_on_the_loop(tmp_path: Path) -> None:
    """With ``synchronous=FULL`` every commit is the writer's."""
    store = store_at(tmp_path, synchronous="FULL")
    await store.commit(row("r1"))

    store.close()
    assert (store.counters["at_once"], store.counters["commits"]) == (0, 1)


async def test_a_full_queue_drops_and_counts(tmp_path: Path) -> None:
    """Rows nobody waits for never grow without bound."""
    store = store_at(tmp_path, queue_limit=10, flush_s=60.0)
    taken = [store.put(row(f"r{n}")) for n in range(25)]
    store.close()

    assert taken.count(True) == 10
    assert store.counters["dropped"] == 15


async def test_closing_writes_what_waits(tmp_path: Path) -> None:
    """A clean stop loses nothing."""
    store = store_at(tmp_path, flush_s=60.0)
    for n in range(2_000):
        store.put(row(f"r{n}"))
    store.close()

    with open_for_reading(tmp_path) as reader:
        assert len(reader.list_runs(10_000, None)) == 2_000


async def test_a_locked_database_fails_the_commit_and_recovers(tmp_path: Path) -> None:
    """Whoever asked is told; the next commit works again."""
    store = store_at(tmp_path)
    with sqlite3.connect(tmp_path / "spanward.db", isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="locked"):
            await store.commit(row("r1"))
        assert not store.healthy
        other.execute("ROLLBACK")
    await store.commit(row("r2"))

    assert store.healthy
    assert [r["run_id"] for r in store.list_runs()] == ["r2"]
    store.close()


async def test_old_runs_are_deleted_with_everything_of_theirs(tmp_path: Path) -> None:
    """Age counts from the last change; audit has an age of its own."""
    now = 100 * DAY_NS
    path = tmp_path / "spanward.db"
    store = SqliteStore(path, StoreSettings(max_age_days=30, retention_s=0.01), clock_ns=lambda: now)
    store.open()
    for n in range(50):
        store.put(row(f"old{n}", now - 31 * DAY_NS))
        store.put(Row("steps", make_step(f"old{n}")))
    store.put(row("new", now - 29 * DAY_NS))
    store.put(Row("steps", make_step("new")))
    store.put(Row("audit", (now - 31 * DAY_NS, "policy", "issue", "old1", "d", "{}")))
    await store.flush()
    await eventually(lambda: len(store.list_runs()) == 1)
    store.close()

    with sqlite3.connect(path) as connection:
        counts = [connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("runs", "steps", "audit")]
    assert counts == [1, 1, 1]


@pytest.mark.slow
async def test_a_database_that_is_too_large_loses_its_oldest_runs(tmp_path: Path) -> None:
    """The size stays near the limit, and the newest runs stay."""
    store = store_at(tmp_path, max_bytes=600_000, max_age_days=0, retention_s=0.01)
    for n in range(400):
        store.put(row(f"r{n:03}", n + 1))
        for _ in range(5):
            store.put(Row("steps", make_step(f"r{n:03}", name="x" * 500)))
    await store.flush()
    await eventually(lambda: len(store.list_runs(1000)) < 250, 10)
    with sqlite3.connect(tmp_path / "spanward.db") as reader:
        await eventually(lambda: reader.execute("PRAGMA freelist_count").fetchone() == (0,))
    left = [r["run_id"] for r in store.list_runs(1000)]
    store.close()

    assert left[0] == "r399"
    assert len(left) > 50
    assert (tmp_path / "spanward.db").stat().st_size < 1_200_000


def test_reading_needs_a_store_to_read(tmp_path: Path) -> None:
    """A folder without one is said to have none."""
    with pytest.raises(FileNotFoundError), open_for_reading(tmp_path):
        pass


KILLED = """
    import asyncio, sys
    from pathlib import Path
    from spanward_detector.run_lifecycle import Life
    from spanward_detector.store import SqliteStore
    from spanward_detector.store.records import run_row

    async def main():
        store = SqliteStore(Path(sys.argv[1]))
        store.open()
        n = 0
        while True:
            await store.commit(run_row(Life(f"r{n}", started_ns=n)))
            print(n, flush=True)
            n += 1

    asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 7, 60])
def test_what_was_committed_survives_sigkill(tmp_path: Path, after: int) -> None:
    """Every commit that was answered is there, and the database is whole."""
    path = tmp_path / "spanward.db"
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(path)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        acknowledged = -1
        for line in child.stdout:
            acknowledged = int(line)
            if acknowledged >= after:
                os.kill(child.pid, signal.SIGKILL)
                break
        acknowledged = max([acknowledged, *(int(line) for line in child.stdout if line.strip().isdecimal())])

    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with open_for_reading(path) as reader:
        stored = {r["run_id"] for r in reader.list_runs(100_000, None)}
    assert {f"r{n}" for n in range(acknowledged + 1)} <= stored

"""What a run may touch, and whether a call stays within it."""

from __future__ import annotations

import ipaddress
import os
import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from spanward.facts.reach import Touched, host_of

ASPECTS: Final = ("paths", "hosts", "tables")
_DEFAULT_SCHEMAS: Final = frozenset({"public", "dbo", "main"})


class Outside(NamedTuple):
    """The first thing that a call touches and must not.

    Attributes:
        aspect: paths, hosts or tables.
        value: as the call names it. Content: it must not leave the process.
    """

    aspect: str
    value: str


def lexical(path: str) -> str:
    """A path without ``.`` and ``..``, for whoever cannot look at the files themselves."""
    return posixpath.normpath(path)


def real(path: str) -> str:
    """Where a path leads: symlinks followed, the home directory and ``..`` resolved, also where nothing exists yet."""
    return os.path.realpath(os.path.expanduser(path))


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run may touch; None = no limit of that kind, empty = nothing.

    Attributes:
        paths: directories and files; what is below a directory is within.
        hosts: names; one is within when it is equal or a subdomain. Addresses and networks are written as such.
        tables: names in lower case, with a schema or without.
    """

    paths: tuple[str, ...] | None = None
    hosts: tuple[str, ...] | None = None
    tables: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls, stated: Mapping[str, Iterable[str | os.PathLike[str]]], resolve: Callable[[str], str] = lexical
    ) -> Scope:
        """A scope as a person writes it.

        Raises:
            ValueError: an aspect that is not known, or one that is no list of texts.
        """
        for aspect, values in stated.items():
            if aspect not in ASPECTS:
                raise ValueError(f"scope has no {aspect!r}: write one of {', '.join(ASPECTS)}")
            if isinstance(values, str) or not all(isinstance(value, str | os.PathLike) for value in values):
                raise ValueError(f"scope[{aspect!r}] is no list of texts: write [...]")
        make: dict[str, Callable[[str], str]] = {"paths": resolve, "hosts": _host, "tables": str.lower}
        return cls(**{aspect: tuple(make[aspect](os.fspath(v)) for v in values) for aspect, values in stated.items()})

    def first_outside(self, touched: Touched, resolve: Callable[[str], str] = lexical) -> Outside | None:
        """The first thing outside, or None.

        Args:
            touched: what a call reaches.
            resolve: makes a path comparable: :func:`real` where the files are, else :func:`lexical`.
        """
        if self.paths is not None:
            # A command that names nothing to destroy means all of the working tree.
            destroyed = [path for destruction in touched.destroys for path in destruction.targets or (".",)]
            for path in (*touched.paths, *destroyed):
                if not self.holds_path(resolve(path)):
                    return Outside("paths", path)
        if self.hosts is not None:
            for host in touched.hosts:
                if not any(_within_host(host, allowed) for allowed in self.hosts):
                    return Outside("hosts", host)
        if self.tables is not None:
            for table in touched.tables:
                if not any(_same_table(table, allowed) for allowed in self.tables):
                    return Outside("tables", table)
        return None

    def holds_path(self, path: str) -> bool:
        """A resolved path is within; a relative one of which nobody knows where it starts is taken to be."""
        if not path.startswith("/") and not path.startswith(("..", "~")) and not os.path.isabs(path):
            return True
        return any(path == root or path.startswith(root.rstrip("/") + "/") for root in self.paths or ())


def _host(written: str) -> str:
    name = written.strip().lower()
    if "://" in name:
        return host_of(name)
    return name.removeprefix("*").lstrip(".").rstrip(".")


def _within_host(host: str, allowed: str) -> bool:
    if host == allowed or host.endswith(f".{allowed}"):
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(allowed, strict=False)
    except ValueError:
        return False


def _same_table(table: str, allowed: str) -> bool:
    if table == allowed:
        return True
    schema, dot, name = table.rpartition(".")
    wanted_schema, wanted_dot, wanted = allowed.rpartition(".")
    if name != wanted or (dot and wanted_dot):
        return False
    return (schema or wanted_schema) in _DEFAULT_SCHEMAS

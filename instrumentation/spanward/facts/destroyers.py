"""Programs that destroy more than files: databases, infrastructure, disks and what others have pushed. A table."""

from __future__ import annotations

import re
from typing import Final

RUNNERS: Final = frozenset({"npx", "bunx", "pnpx", "uvx", "pipx", "winpty", "dotenv", "bundle"})
"""Programs whose first plain word is the program that runs."""
RUNNERS_BY_VERB: Final = frozenset({
    ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "dlx"), ("yarn", "exec"), ("npm", "exec"), ("uv", "run"),
    ("poetry", "run"), ("pipenv", "run"), ("docker", "exec"), ("podman", "exec"),
    ("docker", "compose"), ("kubectl", "exec"),
})  # fmt: skip
"""Programs that run another where this word comes first."""
SQL_CLIENTS: Final = frozenset({
    "psql", "mysql", "mariadb", "sqlite3", "sqlcmd", "clickhouse-client", "clickhouse", "duckdb", "cockroach", "usql",
    "snowsql", "bq", "isql",
})  # fmt: skip
"""Programs to which SQL is given on the command line."""

_DELETED_AT_AWS: Final = (
    "db-instance", "db-cluster", "table", "stack", "bucket", "cluster", "file-system", "volume", "snapshot",
    "repository", "user-pool", "hosted-zone", "key",
)  # fmt: skip
_KEPT_BY_KUBERNETES: Final = "ns|namespaces?|pvc?|persistentvolume(?:claim)?s?|crds?|nodes?|statefulsets?|sts"
_KEPT_BY_GCLOUD: Final = "projects|instances|databases|clusters|disks|buckets|datasets|services|topics|secrets"
_KEPT_BY_AZURE: Final = r"group|vm|db|server|account|aks|cosmosdb|keyvault|disk|database|share|container"

_TABLE: Final = (
    ("database", "dropdb", r"\S"),
    ("database", "redis-cli valkey-cli", r"\bflush(?:all|db)\b"),
    ("database", "mongo mongosh", r"dropdatabase|\.drop\(\)|deletemany\(\s*\{\s*\}"),
    ("database", "prisma", r"\bmigrate reset\b|\bdb push\b.*--(?:force-reset|accept-data-loss)\b"),
    ("database", "drizzle-kit", r"\bpush\b.*--force\b"),
    ("database", "rails rake", r"\bdb:(?:drop|reset|purge|schema:load|migrate:reset)\b"),
    ("database", "php artisan", r"\b(?:migrate:(?:fresh|reset|refresh)|db:wipe)\b"),
    ("database", "python python3 manage.py", r"\bmanage\.py (?:flush|reset_db)\b|^(?:flush|reset_db)\b"),
    ("database", "alembic flask", r"\bdowngrade base\b"),
    ("database", "sequelize sequelize-cli typeorm", r"\bdb:drop\b|\bundo:all\b|\bschema:drop\b"),
    ("database", "knex", r"\bmigrate:rollback\b.*--all\b"),
    ("database", "mix", r"\becto\.(?:drop|reset)\b"),
    ("database", "dotnet liquibase flyway", r"\bef database drop\b|\bdrop-?all\b|^clean\b"),
    ("database", "supabase", r"\bdb reset\b.*--(?:linked|db-url)\b"),
    ("infrastructure", "terraform tofu terragrunt pulumi cdk", r"\bdestroy\b|\bapply\b.*\s-{1,2}destroy\b"),
    ("infrastructure", "serverless sls eksctl", r"^remove\b|\bdelete cluster\b"),
    ("infrastructure", "kubectl oc", rf"\bdelete\b.*(?:\b(?:{_KEPT_BY_KUBERNETES})\b|--all\b)"),
    (
        "infrastructure",
        "aws",
        rf"\bs3 rb\b|\bs3 rm\b.*--recursive|\bdelete-(?:{'|'.join(_DELETED_AT_AWS)})\b|\bterminate-instances\b",
    ),
    ("infrastructure", "gcloud", rf"\b(?:{_KEPT_BY_GCLOUD})\b.*\bdelete\b|\bstorage rm\b.*(?:-r|--recursive)\b"),
    ("infrastructure", "gsutil", r"\brm\b.*\s-r\b|\brb\b|^-m rm -r\b"),
    ("infrastructure", "az", rf"\b(?:{_KEPT_BY_AZURE}) delete\b"),
    ("infrastructure", "heroku", r"\bapps:destroy\b|\bpg:reset\b|\baddons:destroy\b"),
    ("infrastructure", "fly flyctl railway doctl neonctl", r"\b(?:destroy|delete)\b"),
    ("infrastructure", "gh glab", r"\brepo delete\b"),
    (
        "database",
        "npm yarn pnpm bun",
        r"\bdb:(?:reset|drop|wipe)\b|\bprisma (?:migrate reset|db push.*--force-reset)\b",
    ),
    ("volumes", "docker podman", r"\bvolume (?:rm|prune)\b|\bsystem prune\b.*--volumes\b"),
    ("volumes", "docker docker-compose podman-compose compose", r"\bdown\b.*\s(?:-v|--volumes)\b"),
    ("disk", "shred wipefs blkdiscard sgdisk", r"/dev/\w"),
    ("disk", "format format.com", r"^[a-z]:"),
    ("disk", "clear-disk format-volume initialize-disk", r"."),
)  # fmt: skip
_BY_PROGRAM: Final[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}
for _what, _programs, _pattern in _TABLE:
    for _program in _programs.split():
        _BY_PROGRAM.setdefault(_program, []).append((_what, re.compile(_pattern, re.IGNORECASE | re.DOTALL)))

_READ: Final = 1024
_PROTECTED: Final = frozenset({"main", "master", "trunk", "production", "prod", "release", "develop"})


def destroyed_by(program: str, rest: list[str]) -> str:
    """What kind of thing a program destroys with these words: database, infrastructure, volumes or disk; "" for none.

    Args:
        program: its name without directories, in lower case.
        rest: its arguments.
    """
    looked_for = _BY_PROGRAM.get(program)
    if looked_for is None or "--help" in rest or "--dry-run" in rest:
        return ""
    said = " ".join(rest)[:_READ]
    return next((what for what, pattern in looked_for if pattern.search(said)), "")


def overwrites_branch(options: list[str]) -> str:
    """The branch of others that ``git push`` with these words throws away; "" for none, and for one's own."""
    plain = [word for word in options if not word.startswith("-")]
    if "--mirror" in options:
        return "--mirror"
    forced = any(word in ("-f", "--force") for word in options)
    deleted = "-d" in options or "--delete" in options
    for word in plain[1:] if len(plain) > 1 else []:
        branch = word.lstrip("+").rpartition(":")[2].removeprefix("refs/heads/")
        if branch in _PROTECTED and (forced or deleted or word.startswith(("+", ":"))):
            return branch
    return ""

"""``spanward up``: the whole detector in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spanward_detector.cli.console import fail
from spanward_detector.policy import PolicyError, load


def up(
    grpc_address: Annotated[
        str | None, typer.Option(help="HOST:PORT of OTLP/gRPC, control stream and health; default: 127.0.0.1:4327.")
    ] = None,
    http_address: Annotated[
        str | None, typer.Option(help="HOST:PORT of OTLP/HTTP, API and metrics; default: 127.0.0.1:8327.")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where runs are stored; default: the user data folder.")] = None,
    policy: Annotated[Path | None, typer.Option(help="Policy file; default: the built-in policy.")] = None,
) -> None:
    """Run the detector until SIGTERM or Ctrl-C."""
    if policy is not None:
        try:
            load(policy)
        except PolicyError as error:
            fail(f"{policy} is not sound:\n" + "\n".join(f"  {p}" for p in error.problems))
        except (OSError, UnicodeDecodeError) as error:
            fail(f"cannot read the policy: {error}")
    from spanward_detector.config import ServerConfig
    from spanward_detector.server import run_forever

    try:
        config = ServerConfig.from_env(
            grpc_address=grpc_address, http_address=http_address, data_dir=data_dir, policy_path=policy
        )
    except ValueError as error:
        fail(str(error))
    run_forever(config)

"""Settings: a variable for each, and clear words for what does not fit."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from spanward_detector.config import VARIABLES, ConfigError, ServerConfig, is_loopback, split_address
from spanward_detector.store import StoreSettings


def test_every_setting_has_a_variable() -> None:
    """Of the server and of its store."""
    names = {f.name for f in fields(ServerConfig)} - {"store"} | {f.name for f in fields(StoreSettings)}

    assert {name for name, _ in VARIABLES.values()} == names


def test_variables_are_read_and_overridden() -> None:
    """What is given by hand wins, unless it is None."""
    env = {
        "SPANWARD_GRPC_ADDRESS": "0.0.0.0:1", "SPANWARD_TICK_S": "0.5", "SPANWARD_ALLOWED_HOSTS": "a, b,",
        "SPANWARD_STORE_SYNCHRONOUS": "full", "SPANWARD_DATA_DIR": "here", "SPANWARD_SETTLE_S": "",
    }  # fmt: skip
    config = ServerConfig.from_env(env, grpc_address="127.0.0.1:9", data_dir=None)

    assert config.grpc_address == "127.0.0.1:9"
    assert (config.tick_s, config.allowed_hosts, config.data_dir) == (0.5, ("a", "b"), Path("here"))
    assert config.store.synchronous == "FULL"
    assert config.database == Path("here") / "spanward.db"


@pytest.mark.parametrize(
    ("variable", "text", "hint"),
    [
        ("SPANWARD_TICK_S", "soon", "write a number"),
        ("SPANWARD_STREAM_QUEUE", "1.5", "write a whole number"),
        ("SPANWARD_STORE_SYNCHRONOUS", "off", "write NORMAL or FULL"),
        ("SPANWARD_GRPC_ADDRESS", "4327", "HOST:PORT"),
        ("SPANWARD_HTTP_ADDRESS", "localhost:99999", "HOST:PORT"),
        ("SPANWARD_TICK_S", "0", "greater than 0"),
        ("SPANWARD_STREAM_QUEUE", "-1", "greater than 0"),
        ("SPANWARD_TICK_S", "nan", "greater than 0"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_hint(variable: str, text: str, hint: str) -> None:
    """The message says which setting and what to write."""
    with pytest.raises(ConfigError, match=hint):
        ServerConfig.from_env({variable: text})


def test_addresses_are_split() -> None:
    """IPv6 in brackets too."""
    assert split_address("[::1]:4327") == ("::1", 4327)
    assert split_address("localhost:0") == ("localhost", 0)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.1.2.3", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("host", False)],
)
def test_loopback_is_known(host: str, loopback: bool) -> None:
    """Only there may any local page be trusted by its name."""
    assert is_loopback(host) is loopback

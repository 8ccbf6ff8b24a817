"""The detector: finds failures in agents' spans as they happen and steers the running agents back."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("spanward")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0.0.0"

"""The ``spanward`` command. The base install has no detector: then it says how to get one."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say what is missing and exit with 2."""
    try:
        from spanward_detector.cli.app import make_app

        app = make_app(sys.argv[1:])
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0].startswith("spanward"):
            raise
        sys.stderr.write(
            f"spanward: the detector is not installed (no module {error.name!r}).\n"
            "Install it with:  pip install 'spanward[detector]'\n"
        )
        sys.exit(2)
    app()


if __name__ == "__main__":
    main()

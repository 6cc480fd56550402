"""Where the program `mtgauge` begins: imports nothing, so that Ctrl-C is caught from here on."""

import sys


def main() -> int:
    """Run the command line; Ctrl-C while it is being imported is no fault either."""
    try:
        from mtgauge import cli

        return cli.main()
    except KeyboardInterrupt:
        return interrupted()


def interrupted() -> int:
    """Say so; the exit code."""
    print("mtgauge: interrupted.", file=sys.stderr)
    return 130

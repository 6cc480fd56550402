"""`python -m mtgauge` is the command `mtgauge`."""

import sys

from mtgauge.cli import main

sys.exit(main())

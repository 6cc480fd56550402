"""`python -m mtgauge` is the command `mtgauge`."""

import sys

from mtgauge.entry import main

sys.exit(main())

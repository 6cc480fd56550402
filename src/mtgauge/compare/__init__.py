"""How near two texts are: exact transport, best matches, overlap of n-grams, edits.

    mtgauge.compare(result, "old", "new")      two systems: `mtgauge.report.notebook.compare`

`mtgauge.compare` is the name of both this folder and the function, so the folder can be called.
"""

import sys

import mtgauge

sys.modules[__name__].__class__ = mtgauge.CallableFolder

"""How far may a metric be trusted? Agreement with human judgements, tests, probes, printed numbers.

    mtgauge.meta("judged.tsv.gz", ["bleu", "chrf"])       the function, `mtgauge.report.api.meta`
    from mtgauge.meta.study import Plan, gather, study    the parts

`mtgauge.meta` is the name of both this folder and the function, so the folder can be called. What
it calls is looked up among the public names of the package, since results that print themselves
stand to the right of this folder.
"""

import sys

import mtgauge

sys.modules[__name__].__class__ = mtgauge.CallableFolder

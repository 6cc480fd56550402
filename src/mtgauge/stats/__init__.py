"""Numbers about scores: how sure is one, does it differ from another, does it follow people?

bootstrap              intervals of system scores, from statistics rows
paired                 is system b better than a? tests of pairs, ranks
correlation            Pearson, Spearman, Kendall and WMT's tau, always signed
correlation_bootstrap  the same in every resample of the points
"""

"""Corpora in, corpora out: records get columns, and some of them stay.

expression.py   the language of --keep
rules.py        columns that cost little: languages, scripts, copies, lengths, duplicates
duplicates.py   which records stood before, exactly, in bounded memory
manifest.py     what a folder holds: options, input, finished shards
shards.py       files that are there whole or not at all
top.py          the best part of all records, exactly, in bounded memory
run.py          all of it together
"""

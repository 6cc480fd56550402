"""Names of months and weekdays for `mtgauge probe robust`, from CLDR through babel.

    python recipes/calendar_words.py ar bg cs ... zh > src/mtgauge/meta/calendar.tsv

One row per language and kind (month, weekday), names in calendar order, as they stand in a date
("5. ledna", not "leden"). Names that are numbers with a mark (Chinese 1月) are left out: a changed
number covers them.
"""

from __future__ import annotations

import sys

from babel import Locale


def main(languages: list[str]) -> None:
    print("# made by recipes/calendar_words.py from CLDR (Unicode licence)")
    for language in languages:
        locale = Locale.parse(language)
        for kind, names in (("month", locale.months), ("weekday", locale.days)):
            words = [name for _, name in sorted(names["format"]["wide"].items())]
            if all(word[0].isalpha() for word in words):
                print("\t".join([language, kind, *words]))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Word tokenisers by name and by language.

    tokenizer("13a")("Hello, world.")       -> ['Hello', ',', 'world', '.']
    tokenizer("english")("It's over. Go!")  -> ['It', "'s", 'over', '.', 'Go', '!']
    longest_match({"你好", "世界"})("你好世界") -> ['你好', '世界']

Names: `none` (split at white space), `13a`, `intl`, `zh`, `char`, `ja-mecab`, `ko-mecab`,
`flores101`, `flores200` and `spBLEU-1K` (sacrebleu's own: the mecabs need its extras, the last
three the package sentencepiece and a model that sacrebleu fetches once; its `spm` is `flores101`),
`treebank` (the Penn Treebank rules as NLTK's
TreebankWordTokenizer applies them: equal output), `english` (`treebank` after typographic quotes
and dashes are made plain, and with full stops inside a text of several sentences split off),
`moses` (tokenizer.perl of Moses by the package sacremoses, with the rules of English and without
its escapes), `chinese` (Chinese characters only, one per token), `jieba` (Chinese words; needs the
package jieba), `unicode` (runs of letters and digits, every other mark alone; characters of scripts
without spaces one by one) and `punctuation-free` (`unicode` without its marks).

Limits: without a segmenter, Chinese, Japanese and Thai come as single characters. `longest_match`
makes words of them where a vocabulary is at hand, greedily from the left.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Collection
from typing import Literal

from mtgauge.errors import ResourceError, UsageError

Tokenizer = Callable[[str], list[str]]
# What sacrebleu calls its tokenisers; `spm` is its old name of flores101.
Sacrebleu = Literal[
    "13a", "none", "zh", "intl", "char", "ja-mecab", "ko-mecab",
    "flores101", "flores200", "spBLEU-1K", "spm",
]  # fmt: skip

# Scripts written without spaces: Han, kana, Thai, Lao, Khmer, Burmese.
UNSPACED = (
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003134f\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
UNSPACED_LANGUAGES = frozenset({"zh", "yue", "ja", "th", "lo", "km", "my"})
_NOT_CHINESE = re.compile("[^\u4e00-\u9fff]+")
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")

# The Penn Treebank rules in the order in which they must apply; each may see the spaces that the
# ones before it put in. The characters before a rule are those without which it cannot apply.
_TREEBANK: tuple[tuple[frozenset[str], re.Pattern[str], str], ...] = tuple(
    (frozenset(characters), re.compile(pattern), replacement)
    for characters, pattern, replacement in (
        ('"', r'^"', "``"),
        ('`"', r"``", " `` "),
        ("\"'", r"([ (\[{<])(?:\"|'')", r"\1 `` "),
        (":,", r"([:,])(\D)", r" \1 \2"),
        (":,", r"([:,])$", r" \1 "),
        (".", r"\.\.\.", " ... "),
        (";@#$%&", r"([;@#$%&])", r" \1 "),
        # a final full stop, with any brackets and quotes that close after it
        (".", r"([^.])(\.[\])}>\"']*)\s*$", r"\1 \2 "),
        ("?!", r"([?!])", r" \1 "),
        ("'", r"([^'])' ", r"\1 ' "),
        ("[](){}<>-", r"([\[\](){}<>]|--)", r" \1 "),
    )
)
_ENDINGS = (
    (re.compile(r"''|\""), " '' "),
    (re.compile(r"([^' ])('[smdSMD]?) "), r"\1 \2 "),
    (re.compile(r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) "), r"\1 \2 "),
)
# Spoken forms that are two words. The long s is a small s to a pattern that ignores case.
_TWO_WORDS = re.compile(
    r"(?i)\b(?:(can)(not)|(d)('ye)|(gim)(me)|(gon)(na)|(got)(ta)|(lem)(me)|(more)('n))\b"
    r"|\b(wan)(na)(?=\s)"
)
_IT_IS = re.compile(r"(?i) ('t)(is|was)\b")
_SPOKEN = ("cannot", "'ye", "gimme", "gonna", "gotta", "lemme", "'n", "wanna", "'tis", "'twas")


def _two_words(match: re.Match[str]) -> str:
    return " " + " ".join(part for part in match.groups() if part is not None) + " "


def treebank(text: str) -> list[str]:
    """Tokens by the Penn Treebank rules; only the last full stop of the text is split off."""
    there = set(text)
    for characters, pattern, replacement in _TREEBANK:
        if not characters.isdisjoint(there):
            text = pattern.sub(replacement, text)
    text = f" {text} "
    if "'" in there or '"' in there:
        for pattern, replacement in _ENDINGS:
            text = pattern.sub(replacement, text)
    folded = text.casefold()
    if any(form in folded for form in _SPOKEN):
        text = _IT_IS.sub(r" \1 \2 ", _TWO_WORDS.sub(_two_words, text))
    return text.split()


_PLAIN = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'",
                        "–": " – ", "—": " — ", "…": "..."})  # fmt: skip
_INNER_STOP = re.compile(r"^(\w{2,}|.*[^\w.])\.$")
_ABBREVIATION = re.compile(
    r"(?i)mrs?|ms|dr|prof|sr|jr|st|vs|etc|inc|ltd|co|corp|gen|col|sgt|lt|capt|rep|sen|gov|rev|hon"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|approx|dept|est|fig|vol|pp|cf|al"
)


def english(text: str) -> list[str]:
    """Treebank tokens of a text that may hold several sentences and typographic marks."""
    tokens = treebank(text if text.isascii() else text.translate(_PLAIN))
    if text.count(".") == (tokens[-1:] == ["."]):
        return tokens
    out: list[str] = []
    for token in tokens:
        stop = _INNER_STOP.match(token) if token[-1] == "." and len(token) > 1 else None
        if stop and not _ABBREVIATION.fullmatch(stop[1]):
            out += [stop[1], "."]
        else:
            out.append(token)
    return out


def chinese(text: str) -> list[str]:
    return list(_NOT_CHINESE.sub("", text))


@functools.cache
def _unicode_finder() -> Tokenizer:
    # `regex` knows combining marks as a class, without which Hindi and Thai words fall apart
    import regex

    letter = rf"(?![{UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}_]"
    find: Tokenizer = regex.compile(
        rf"\p{{N}}+(?:[.,]\p{{N}}+)+|(?:{letter})+(?:['’](?:{letter})+)*"
        rf"|[{UNSPACED}]\p{{M}}*|[^\s\p{{L}}\p{{M}}\p{{N}}_]|\p{{M}}"
    ).findall
    return find


# the same for texts in ASCII, which the standard library reads several times as fast
_ASCII_WORD = r"[0-9]+(?:[.,][0-9]+)+|[0-9A-Za-z_]+(?:'[0-9A-Za-z_]+)*"
_ascii_words: Tokenizer = re.compile(_ASCII_WORD).findall
_ascii_finder: Tokenizer = re.compile(rf"{_ASCII_WORD}|[^\s0-9A-Za-z_]", re.ASCII).findall


def unicode_words(text: str) -> list[str]:
    return _ascii_finder(text) if text.isascii() else _unicode_finder()(text)


@functools.lru_cache(maxsize=1 << 16)
def is_punctuation(token: str) -> bool:
    """True for a token without a letter or a digit."""
    return not any(unicodedata.category(c)[0] in "LNM" for c in token)


def _without_punctuation(text: str) -> list[str]:
    if text.isascii() and "_" not in text:
        return _ascii_words(text)
    return [token for token in unicode_words(text) if not is_punctuation(token)]


def _jieba() -> Tokenizer:
    try:
        import jieba
    except ImportError:
        raise ResourceError(
            "The tokeniser 'jieba' needs the package jieba: pip install jieba."
        ) from None
    jieba.setLogLevel(60)

    def cut(text: str) -> list[str]:
        return [w for w in jieba.cut(_NOT_CHINESE.sub("", text)) if w]

    return cut


def _moses() -> Tokenizer:
    try:
        from sacremoses import MosesTokenizer  # type: ignore[import-untyped]
    except ImportError:
        raise ResourceError(
            "The tokeniser 'moses' needs the package sacremoses: pip install sacremoses."
        ) from None
    inner = MosesTokenizer("en")
    return lambda text: list(inner.tokenize(text, escape=False))


def _sacrebleu(module: str, name: str) -> Callable[[], Tokenizer]:
    def build() -> Tokenizer:
        import importlib

        try:
            found = importlib.import_module(f"sacrebleu.tokenizers.tokenizer_{module}")
            inner = getattr(found, name)()
        except (ImportError, RuntimeError):
            raise ResourceError(
                f"The tokeniser {module.replace('_', '-')!r} needs more than sacrebleu itself: "
                f"pip install 'sacrebleu[{module[:2]}]'."
            ) from None
        return lambda text: inner(text).split()

    return build


def _sentencepiece(key: str) -> Callable[[], Tokenizer]:
    def build() -> Tokenizer:
        from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS, TokenizerSPM

        file = SPM_MODELS[key]["url"].rsplit("/", 1)[-1]
        try:
            inner = TokenizerSPM(key)
        except ImportError:
            raise ResourceError(
                f"The tokeniser {key!r} needs the package sentencepiece: pip install sentencepiece."
            ) from None
        except (OSError, RuntimeError, SystemExit) as error:  # sacrebleu exits without certificates
            reason = getattr(error, "reason", None) or error
            raise ResourceError(
                f"The tokeniser {key!r} needs a model that sacrebleu could not fetch or read "
                f"({reason}). It needs a network once: run this where there is one, and copy "
                f".sacrebleu/models/{file} from there, or choose a tokeniser without a model."
            ) from None
        return lambda text: inner(text).split()

    return build


_NAMES: dict[str, Callable[[], Tokenizer]] = {
    "none": lambda: str.split,
    "13a": _sacrebleu("13a", "Tokenizer13a"),
    "intl": _sacrebleu("intl", "TokenizerV14International"),
    "zh": _sacrebleu("zh", "TokenizerZh"),
    "char": _sacrebleu("char", "TokenizerChar"),
    "ja-mecab": _sacrebleu("ja_mecab", "TokenizerJaMecab"),
    "ko-mecab": _sacrebleu("ko_mecab", "TokenizerKoMecab"),
    "flores101": _sentencepiece("flores101"),
    "flores200": _sentencepiece("flores200"),
    "spBLEU-1K": _sentencepiece("spBLEU-1K"),
    "moses": _moses,
    "treebank": lambda: treebank,
    "english": lambda: english,
    "chinese": lambda: chinese,
    "jieba": _jieba,
    "unicode": lambda: unicode_words,
    "punctuation-free": lambda: _without_punctuation,
}
_LANGUAGES = {"en": "english", "zh": "chinese"}


def names() -> list[str]:
    return list(_NAMES)


@functools.cache
def tokenizer(name: str) -> Tokenizer:
    """A tokeniser by name.

    >>> tokenizer("none")("a b")
    ['a', 'b']
    """
    if name in _NAMES:
        return _NAMES[name]()
    raise UsageError(f"There is no tokeniser {name!r}. There are: {', '.join(_NAMES)}.")


def name_for_language(lang: str | None) -> str:
    """The default tokeniser of a language; English where it is not known."""
    return _LANGUAGES.get(lang or "en", "unicode")


def longest_match(vocabulary: Collection[str]) -> Tokenizer:
    """`unicode` tokens, with runs of unspaced script cut into the longest known words.

    From the left, the longest word of the vocabulary is taken; a character that begins none
    stands alone.
    """
    known = {word for word in vocabulary if _UNSPACED_RUN.fullmatch(word)}
    longest = max(map(len, known), default=1)

    def cut(run: str) -> list[str]:
        words, at = [], 0
        while at < len(run):
            size = min(longest, len(run) - at)
            while size > 1 and run[at : at + size] not in known:
                size -= 1
            words.append(run[at : at + size])
            at += size
        return words

    def tokenize(text: str) -> list[str]:
        tokens: list[str] = []
        end = 0
        for match in _UNSPACED_RUN.finditer(text):
            tokens += unicode_words(text[end : match.start()]) + cut(match[0])
            end = match.end()
        return tokens + unicode_words(text[end:])

    return tokenize

"""From an inflected word to the forms it may be listed under: "Praze" -> "praha".

    Morphology("cs").bases("Praze")          # ["praha", "praz", "praza", ...]
    Morphology("en").is_common("reading")    # True: an ordinary word, not only a town

First simplemma's dictionary (54 languages), then a suffix fallback: known endings are cut and
endings of base forms put in their place. The fallback proposes far more than exists; the linker
keeps only what the knowledge base lists, so a wrong proposal costs a lookup and no more.

Known limits: Kazakh and Gujarati have no dictionary, Chinese needs none; irregular stems outside
the dictionary are not found.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from mtgauge.knowledge.base.keys import fold

# language: endings to cut; what a base form may end in instead; last letters that alternate
_RULES: dict[str, tuple[str, str, str]] = {
    "cs": (
        "a e ě i í y u ů é á ou ého ému ým ých ými em ém ím ům ám ách ích ech ami emi ovi ové ova "
        "ovy ovu ovým ho mu",
        "a o e y í ko sko á é ý",
        "z:h c:k š:ch ž:h č:k ř:r ň:ň",
    ),
    "sk": ("a e i í y u ov ou om ám ách ami ovi ová ovej ho mu", "a o e y sko", "z:h c:k"),
    "pl": ("a ą e ę i u y ie iem em om ów ach ami owi ego emu", "a o e y", "z:g c:k dz:d"),
    "fi": (
        "n a ä ta tä tta ttä ssa ssä sta stä an än en in on yn lla llä lta ltä lle ksi na nä "
        "ni nsa nsä ia iä issa issä ista istä iin illa ille ilta ien iden seen",
        "i a ä e nen s",
        "ng:nk mm:mp nn:nt ll:lt rr:rt d:t v:p k:kk t:tt p:pp",
    ),
    "et": (
        "a e i u d t s as es us st ast est sse l le lt ks ni na ta ga de te id isse is ist il ile "
        "ilt iga",
        "a e i u",
        "",
    ),
    "lv": (
        "a ā u ai as os us ei ē ēs em e es i ī is im ām iem am ļa ļu ja ju š s ņas",
        "a s e is us š ija",
        "ļ:l ņ:n š:s ž:z č:c",
    ),
    "lt": (
        "o ui ą u e uje yje je oje ėje oj ai os ų oms ams uose ose io iui į iu iuje "
        "ei ės ę ius us is as",
        "as is us a ė ys ai",
        "či:t dži:d",
    ),
    "ru": (
        "а я у ю е и ы о й ой ей ом ем ою ею ам ям ах ях ами ями ов ев ым им ых их "
        "ого его ому ему ию ии ией",
        "а я о е ь й ия ы ий ая ое ый ые ие",
        "",
    ),
    "uk": (
        "а я у ю е і и ї ої ою ею ом ем ам ям ах ях ами ями ів ові еві ого ому ії ію",
        "а я о е ь й ія",
        "",
    ),
    "tr": (
        "da de ta te dan den tan ten ın in un ün nın nin nun nün a e ya ye na ne ı i u ü yı yi yu "
        "yü nı ni la le yla yle lar ler daki deki taki teki lı li lu lü",
        "",
        "ğ:k b:p d:t c:ç",
    ),
    "kk": (
        "да де та те дан ден тан тен нан нен ның нің дың дің тың тің ға ге қа ке на не ны ні ды ді "
        "ты ті мен бен пен дағы дегі тағы тегі лық лік дық дік тық тік лар лер дар дер тар "
        "тер сы сі ы і",
        "",
        "ғ:қ г:к б:п",
    ),
    "de": ("s es n en er ern e ens", "", ""),
    "en": ("s es", "", ""),
    "ro": ("ul ului lui a ei i ii iei e le lor", "a ă e ea ia", ""),
    "gu": ("માં ના ની નો નું ને નાં થી એ માંથી માંના", "", ""),
    "hu": (
        "ban ben ba be ból ből on en ön n ról ről ra re nál nél tól től hoz hez höz nak nek t at "
        "et ot val vel ig i",
        "",
        "á:a é:e",
    ),
}  # fmt: skip
_SHORTEST_STEM = 3
_SHORTEST_PART = 3


class Morphology:
    """Base forms and common words of one language."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self._dictionary = _dictionary(lang)
        endings, additions, changes = _RULES.get(lang, ("", "", ""))
        self._commons: dict[str, bool] = {}
        self._knowns: dict[str, bool] = {}
        self._endings = tuple(sorted(endings.split(), key=len, reverse=True))
        self._additions = ("", *additions.split())
        self._changes = tuple(tuple(pair.split(":")) for pair in changes.split())

    def lemmas(self, word: str) -> list[str]:
        """Folded dictionary forms of a word, as written and as it is at the start of a sentence."""
        found = []
        for form in dict.fromkeys((word, lower(word), word.capitalize())):
            lemma = self._dictionary.get(form)
            if lemma is not None:
                found.append(fold(lemma))
        return found

    def guesses(self, word: str) -> list[str]:
        """Folded forms that the word may be an inflection of, by its ending; the nearest first."""
        word = fold(word)
        found: dict[str, None] = {}
        for ending in self._endings:
            stem = word[: len(word) - len(ending)]
            if len(stem) < _SHORTEST_STEM or not word.endswith(ending):
                continue
            stems = [stem]
            for old, new in self._changes:
                if stem.endswith(old):
                    stems.append(stem[: len(stem) - len(old)] + new)
            found.update((base + addition, None) for base in stems for addition in self._additions)
        found.pop(word, None)
        return list(found)

    def is_common(self, word: str) -> bool:
        """Whether the word is ordinary when written small: then a capital alone makes no name."""
        held = self._commons.get(word)
        if held is None:
            lemma = self._dictionary.get(lower(word))
            held = self._commons[word] = lemma is not None and not lemma[0].isupper()
        return held

    def is_known(self, word: str) -> bool:
        """Whether the dictionary has the word in any spelling, names among them."""
        held = self._knowns.get(word)
        if held is None:
            forms = (word, lower(word))
            held = self._knowns[word] = any(self._dictionary.get(w) is not None for w in forms)
        return held

    def is_compound(self, word: str) -> bool:
        """Whether the word is two known words in one (German writes them so)."""
        small = lower(word)
        for cut in range(_SHORTEST_PART, len(small) - _SHORTEST_PART + 1):
            head, tail = small[:cut], small[cut:]
            heads = (head, head.removesuffix("s"), head.removesuffix("n"))
            if any(self.is_known(h) or self.is_known(h.capitalize()) for h in heads) and (
                self.is_known(tail) or self.is_known(tail.capitalize()) or self.is_compound(tail)
            ):
                return True
        return False

    @property
    def has_dictionary(self) -> bool:
        return len(self._dictionary) > 0


def lower(word: str) -> str:
    """The word in small letters; the Turkish dotted capital gives one letter, not two."""
    return word.replace("\u0130", "i").lower()


@lru_cache(maxsize=16)
def morphology(lang: str) -> Morphology:
    """The shared `Morphology` of a language."""
    return Morphology(lang)


@lru_cache(maxsize=8)
def _dictionary(lang: str) -> Mapping[str, str]:
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES
    from simplemma.strategies.dictionaries.trie_dictionary_factory import TrieDictionaryFactory

    if lang not in SUPPORTED_LANGUAGES:
        return {}
    # made once into the user's cache folder, then opened in milliseconds; of simplemma's three
    # forms the smallest in memory
    words: Mapping[str, str] = TrieDictionaryFactory().get_dictionary(lang)
    return words

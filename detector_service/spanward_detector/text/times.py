"""How often a person asked for something to be done: that many equal calls are what was wanted."""

from __future__ import annotations

import re
from typing import Final

MOST: Final = 100
"""More is not believed: a number in a request may count anything."""
_CAP: Final = 4096
_WORDS: Final = {
    word: number
    for number, words in {
        2: "two twice zwei zweimal dos deux twee duas két kétszer 两 二",
        3: "three drei dreimal tres trois drie três három háromszor 三",
        4: "four vier viermal cuatro quatre quatro négy négyszer 四",
        5: "five fünf fünfmal cinco cinq vijf öt ötször 五",
        6: "six sechs sechsmal seis zes hat hatszor 六",
        7: "seven sieben siebenmal siete sept zeven sete hét hétszer 七",
        8: "eight acht achtmal ocho huit oito nyolc nyolcszor 八",
        9: "nine neun neunmal nueve neuf negen nove kilenc kilencszer 九",
        10: "ten zehn zehnmal diez dix tien dez tíz tízszer 十",
        12: "twelve dozen zwölf zwölfmal doce douze twaalf doze",
        20: "twenty zwanzig zwanzigmal veinte vingt twintig vinte húsz hússzor 二十",
    }.items()
    for word in words.split()
}
_WHOLE: Final = "|".join(word for word in _WORDS if word.endswith(("twice", "mal", "szer", "szor", "ször")))
_NUMBER: Final = "|".join(sorted(_WORDS, key=len, reverse=True))
_ASKED: Final = re.compile(
    rf"\b(?P<whole>{_WHOLE})\b"
    rf"|(?:\b|(?<=[^\x00-\x7f]))(?P<number>\d{{1,3}}|{_NUMBER})[\s-]{{0,2}}"
    r"(?:(?:more|separate|consecutive|equal|identical)\s)?"
    r"(?:times|readings|samples|measurements|checks|requests|calls|attempts|rounds|iterations|repetitions|mal\b|veces|fois"
    r"|keer|vezes|alkalommal|szer\b|szor\b|ször\b|次|回|遍)",
    re.IGNORECASE,
)


def asked_times(request: str) -> int:
    """The largest number of times that a request asks for, in several languages; 0 when it names none."""
    found = (m["whole"] or m["number"] for m in _ASKED.finditer(request[:_CAP]))
    counts = (int(word) if word.isdecimal() else _WORDS.get(word.lower(), 0) for word in found)
    return max((count for count in counts if count <= MOST), default=0)

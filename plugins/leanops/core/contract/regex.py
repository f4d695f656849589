"""The regular expressions a contract may use: those that Python and Java read alike and that cannot run away."""

from __future__ import annotations

import re
import warnings
from typing import Final

ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
GROUP: Final = re.compile(r"\(\?(?!:)")
REPEAT: Final = re.compile(r"\{([0-9]*),?([0-9]*)\}")
MOST_REPEATS: Final = 1000
CLASS_TRAP: Final = re.compile(r"&&|--|~~|\|\||\[[^\]]*\[")
CHARACTER_CLASS: Final = re.compile(r"\[\^?\]?[^\]]*\]")
INNERMOST_GROUP: Final = re.compile(r"\((?:\?:)?([^()]*)\)([*+{]?)")
PLAIN_ESCAPES: Final = frozenset("dwsDWSntr.^$*+?{}[]()|\\/-'\"")


def regex_objection(pattern: str) -> str | None:
    """Why the pattern is not allowed, or None."""
    for match in ESCAPE.finditer(pattern):
        if match[1] not in PLAIN_ESCAPES:
            return f"the escape \\{match[1]} is not among those that Python and Java share"
    bare = ESCAPE.sub("", pattern)
    if any(int(number) > MOST_REPEATS for match in REPEAT.finditer(bare) for number in match.groups() if number):
        return f"more than {MOST_REPEATS} repeats are not allowed"
    if GROUP.search(bare):
        return "look-around, flags and named groups are not allowed"
    if re.search(r"[+*?}]\+", pattern):
        return "possessive repeats are not allowed"
    if _repeats_a_choice(CHARACTER_CLASS.sub("x", ESCAPE.sub("x", pattern))):
        return "a repeated group with a choice or a repeat inside can take for ever"
    if CLASS_TRAP.search(bare):
        return "Java reads this character class in another way"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(pattern)
    except (re.error, FutureWarning) as error:
        return f"it does not compile ({error})"
    return None


def _repeats_a_choice(bare: str) -> bool:
    """Works inwards out: a group that is done becomes one letter, or a repeat sign if something in it varies."""
    while match := INNERMOST_GROUP.search(bare):
        varies = any(sign in match[1] for sign in "|*+?,")
        if varies and match[2]:
            return True
        bare = bare[: match.start()] + ("x?" if varies else "x") + bare[match.end(1) + 1 :]
    return False

"""Cross-column rules: a closed grammar, so that contract text never becomes SQL by itself.

check      = and_check {"or" and_check}
and_check  = not_check {"and" not_check}
not_check  = "not" not_check | predicate
predicate  = sum [comparator sum | "is" ["not"] "null" | ["not"] "in" "(" literal {"," literal} ")"]
comparator = "=" | "!=" | "<" | "<=" | ">" | ">="
sum        = product {("+" | "-") product}
product    = atom {"*" atom}
atom       = number | 'text' | "true" | "false" | column | "(" check ")"
"""

from leanops.core.expression.evaluation import evaluated
from leanops.core.expression.parser import parsed
from leanops.core.expression.tree import Expression, columns_of

__all__ = ["Expression", "columns_of", "evaluated", "parsed"]

"""Cross-column rules: a closed grammar, so that contract text never becomes SQL by itself.

check      = and_check {"or" and_check}
and_check  = not_check {"and" not_check}
not_check  = "not" not_check | predicate
predicate  = sum [comparator sum | "is" ["not"] "null" | ["not"] "in" "(" literal {"," literal} ")"]
comparator = "=" | "!=" | "<" | "<=" | ">" | ">="
sum        = product {("+" | "-") product}
product    = atom {"*" atom}
atom       = number | 'text' | "true" | "false" | column | "(" check ")"

Numbers are exact decimals of at most 38 digits; a rule that may need more is refused. Beside a DOUBLE all are doubles.
"""

from leanops.core.expression.digits import common_type, number_type
from leanops.core.expression.evaluation import evaluated
from leanops.core.expression.parser import parsed
from leanops.core.expression.tree import Expression, columns_of

__all__ = ["Expression", "columns_of", "common_type", "evaluated", "number_type", "parsed"]

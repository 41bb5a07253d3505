"""What the variables of compose.yaml stand for."""
import re

INNERMOST = re.compile(r"\$\{\w+:-([^${}]*)\}")


def resolved(value):
    """A value of compose.yaml where nobody has set anything: the defaults."""
    value = str(value)
    while INNERMOST.search(value):
        value = INNERMOST.sub(lambda match: match[1], value)
    return value

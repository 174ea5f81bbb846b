"""Functional expressions, and the linear forms that grammars are learnt of.

    answer(city(loc_2(stateid('new york'))))       FunQL
    (answer (city (loc_2 (stateid "new york"))))   Lisp
    SELECT name FROM city WHERE state = 'new york' SQL, see `decoder.expressions.sql`
    answer@1 city@1 loc_2@1 stateid@1 'new_york'@0     linear

The linear form lists the symbols of a tree in preorder, each with its number of arguments, so that it can be
read back without brackets. A symbol whose name has quotes is a *constant*; each blank in it becomes an
underscore, underscores and backslashes in it are preceded by a backslash.

The fact a newcomer would get wrong: a symbol is its name *and* its arity. `state@1` and `state@0` are two.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

from decoder.expressions.sql_reader import parse_sql
from decoder.expressions.sql_scope import names_its_tables
from decoder.expressions.sql_short import full_query
from decoder.expressions.sql_writer import write_sql
from decoder.expressions.tree import Expression, is_constant, shortened
from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import InputError

__all__ = ["FORMS", "arity_of", "from_linear", "is_sound", "parse", "to_linear", "write"]

FORMS = ("funql", "lisp", "sql")

_DEEPEST = 200  # Brackets within brackets; Python's stack holds some more.

_MOST_ARGUMENTS = 999  # Of a symbol of a linear form.

_TOKEN = re.compile(r"""\s*((?:'[^']*'|"[^"]*")(?![^\s(),])|[(),]|[^\s(),'"]+)""")
_LINEAR = re.compile(r"""('.*'|[^\s(),'"]+)@([0-9]{1,3})""", re.DOTALL)


class _Reader:
    """The tokens of a line, and where it stands."""

    def __init__(self, text: str, path: PathLike, line: int):
        self._text, self._path, self._line = text, path, line
        self._at = 0

    def peek(self) -> str:
        """The next token, or nothing at the end."""
        match = _TOKEN.match(self._text, self._at)
        if match is None and self._text[self._at :].strip():
            raise self.error(
                "a quotation mark that is not closed, or one within a name", "Put names in the other mark"
            )
        return "" if match is None else match[1]

    def take(self) -> str:
        token = self.peek()
        if token:
            self._at = _TOKEN.match(self._text, self._at).end()  # type: ignore[union-attr]
        return token

    def name(self) -> str:
        """The next token, a name; constants in single quotes, blanks at their ends left out."""
        token = self.take()
        if token in ("", "(", ")", ","):
            found = f"'{token}'" if token else "the end"
            raise self.error(f"{found} where a name or a constant is expected", "Mend the expression")
        return f"'{token[1:-1].strip()}'" if token[0] in "'\"" else token

    def deeper(self, depth: int) -> int:
        """One more than the depth of an expression, unless its arguments are too deep."""
        if depth >= _DEEPEST:
            raise self.error(f"brackets are nested more than {_DEEPEST} deep", "Is it an expression?")
        return depth + 1

    def error(self, found: str, hint: str) -> InputError:
        return InputError(self._path, self._line, f"{found}: {shortened(self._text)}", hint)


def parse(text: str, form: str, path: PathLike = "<text>", line: int = 1) -> Expression:
    """The expression a line holds.

    Parameters
    ----------
    form : one of `FORMS`
    path, line : for messages

    Raises
    ------
    InputError
        It is no expression.
    """
    found = parse_sql(text, path, line) if form == "sql" else _parse_brackets(text, form, path, line)
    if (number := _most_arguments(found)) > _MOST_ARGUMENTS:
        what = f"{number} arguments of one symbol: {shortened(text)}"
        raise InputError(path, line, what, f"Linear forms have {_MOST_ARGUMENTS} at most")
    return found


def _most_arguments(expression: Expression) -> int:
    return max([len(expression.arguments), *map(_most_arguments, expression.arguments)])


def _parse_brackets(text: str, form: str, path: PathLike, line: int) -> Expression:
    """An expression of FunQL or Lisp."""
    reader = _Reader(text, path, line)
    found = (_parse_lisp if form == "lisp" else _parse_funql)(reader)
    rest = reader.peek()
    if rest:
        hint = "Leave it out, or open it before" if rest == ")" else "Write one expression a line"
        raise reader.error(f"'{rest}' behind the expression", hint)
    return found


def _parse_funql(reader: _Reader, depth: int = 0) -> Expression:
    name = reader.name()
    if reader.peek() != "(":
        return Expression(name)
    reader.take()
    depth = reader.deeper(depth)
    arguments = [_parse_funql(reader, depth)]
    while (token := reader.take()) == ",":
        arguments.append(_parse_funql(reader, depth))
    if token != ")":
        found = f"'{token}'" if token else "the end"
        raise reader.error(f"{found} where , or ) is expected", "Mend the expression")
    return Expression(name, tuple(arguments))


def _parse_lisp(reader: _Reader, depth: int = 0) -> Expression:
    if reader.peek() != "(":
        return Expression(reader.name())
    reader.take()
    depth = reader.deeper(depth)
    name = reader.name()
    arguments = []
    while (token := reader.peek()) not in ("", ")"):
        arguments.append(_parse_lisp(reader, depth))
    if token != ")":
        raise reader.error("the end where ) is expected", "Close the bracket")
    reader.take()
    return Expression(name, tuple(arguments))


def write(expression: Expression, form: str) -> str | None:
    """The expression in a form: FunQL without blanks but behind commas; None if it is no query, for SQL."""
    if form == "sql":
        return write_sql(expression)
    return _write_funql(expression) if form == "funql" else _write_lisp(expression)


def is_sound(words: Sequence[str], form: str) -> bool:
    """Whether a linear form is an expression, and for SQL a query all of whose tables are in a FROM."""
    expression = from_linear(words)
    if expression is None or form != "sql":
        return expression is not None
    query = full_query(expression) if write_sql(expression) is not None else None
    return query is not None and names_its_tables(query)


def _write_lisp(expression: Expression) -> str:
    name = _quoted(expression.name, '"')
    if not expression.arguments:
        return name
    return f"({' '.join([name, *map(_write_lisp, expression.arguments)])})"


def _quoted(name: str, mark: str) -> str:
    """A constant in this quotation mark, or in the other one where it has this one itself; else the name."""
    if not is_constant(name):
        return name
    inner = name[1:-1]
    mark = {"'": '"', '"': "'"}[mark] if mark in inner else mark
    return mark + inner + mark


def _write_funql(expression: Expression) -> str:
    name = _quoted(expression.name, "'")
    if not expression.arguments:
        return name
    return f"{name}({', '.join(map(_write_funql, expression.arguments))})"


def to_linear(expression: Expression) -> list[str]:
    """The symbols in preorder, each with its arity."""
    name = expression.name
    if is_constant(name):
        name = re.sub(r"([\\_@])", r"\\\1", name)
        name = re.sub(r"[ \t\r\n]", "_", name)  # What else is a blank to Python parts no words.
    words = [f"{name}@{len(expression.arguments)}"]
    for each in expression.arguments:
        words += to_linear(each)
    return words


def from_linear(words: Sequence[str]) -> Expression | None:
    """The expression that a linear form lists; None if it is none, or deeper than any that can be read."""
    rest = iter(words)
    found = _from_linear(rest)
    return found if found is not None and next(rest, None) is None else None


def _from_linear(words: Iterator[str], depth: int = 0) -> Expression | None:
    word = next(words, "")
    arity = arity_of(word)
    if arity is None or (arity and depth >= _DEEPEST):
        return None
    name = word[: word.rindex("@")]
    if is_constant(name):
        name = re.sub(r"\\(.)|_", lambda match: match[1] or " ", name)
    arguments = []
    for _ in range(arity):
        argument = _from_linear(words, depth + 1)
        if argument is None:
            return None
        arguments.append(argument)
    return Expression(name, tuple(arguments))


@functools.lru_cache(1 << 16)
def arity_of(word: str) -> int | None:
    """The number of arguments a word of a linear form says it has; None if it is no symbol."""
    match = _LINEAR.fullmatch(word)
    return None if match is None else int(match[2])

"""SQL queries as expressions: a parser of recursive descent; see `decoder.expressions.sql`.

The fact a newcomer would get wrong: what stands in brackets is not known at the first word. `((SELECT …)
UNION …)` and `((a + b) * c)` begin alike, so brackets are read as an expression, which a query may be.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import NoReturn

from decoder.expressions.sql import (
    ADDITIONS,
    COLUMNS,
    COMPARISONS,
    DEEPEST,
    NAME,
    NUMBER,
    PRODUCTS,
    QUERIES,
    RESERVED,
    SETS,
    TIGHT,
    WORDS,
    is_ordered,
    with_again,
)
from decoder.expressions.sql_short import LARGEST, short_query
from decoder.expressions.tree import Expression, depth, shortened, size
from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import InputError

__all__ = ["parse_sql"]

_TOKEN = re.compile(
    r"""\s*('(?:[^']|'')*'|"(?:[^"]|"")*"|<>|!=|<=|>=|\|\||[=<>+\-*/%(),;]"""
    rf"""|{NUMBER.pattern}(?![\w.])|{NAME.pattern})"""
)
_COMMENT = re.compile(r"\s*(?:--|/\*)")
_OPENS = re.compile(r"\s*\(")
_NOT_READ = ("case", "with")
_MOST_BRACKETS = 40  # Within each other; each takes fifteen functions.


def parse_sql(text: str, path: PathLike = "<text>", line: int = 1) -> Expression:
    """The expression of a query, in its short form, or of a part of one: a constant, a column, a condition.

    A semicolon may stand behind it.

    Parameters
    ----------
    path, line : for messages

    Raises
    ------
    InputError
        It is no query that is read here, nor a part of one.
    """
    reader = _Reader(text, path, line)
    found = _query_or_condition(reader)
    reader.accept(";")
    if reader.token:
        reader.fail(f"'{reader.token}' behind the query", _hint_behind(found, reader))
    if depth(found) > DEEPEST:
        reader.fail(f"a query of more than {DEEPEST} symbols within each other", "Is it a query?")
    short = short_query(found)
    if short is None and size(found) > LARGEST // 2:
        reader.fail(f"a query of {size(found)} symbols", "Is it a query?")
    if short is None:
        reader.fail("columns of a table in a SELECT without FROM", "Say which table they are of")
    return with_again(short)


def _hint_at(rest: str) -> str:
    """What to do where something stands that is no token."""
    if rest[0] in "'\"":
        return "Close the quotation mark, and double those within a constant: 'o''brien'"
    if rest[0] in "`[":
        return "Write names as they are, without marks around them"
    return "Write numbers as 15 or 1.5" if rest[0].isdigit() else "Mend the query"


def _hint_behind(found: Expression, reader: _Reader) -> str:
    """What to do where something is left behind what was read."""
    if reader.is_right_behind_a_constant:
        return "Double a quotation mark within a constant: 'o''brien'"
    return "A query begins with SELECT" if found.name not in QUERIES else "Write one query a line"


class _Reader:
    """The tokens of a query: `token` is the next, "" at the end, and `word` the same in small letters."""

    def __init__(self, text: str, path: PathLike, line: int):
        self._text, self._path, self._line = text, path, line
        self._at, self._depth = 0, 0
        self.token = ""
        self.advance()

    @property
    def word(self) -> str:
        return self.token.lower()

    @property
    def is_right_behind_a_constant(self) -> bool:
        """Whether the next token follows a quotation mark without a blank."""
        return self._text[: self._at - len(self.token)].endswith(("'", '"'))

    def advance(self) -> str:
        """The token that was next; the one behind it is, then."""
        before = self.token
        if _COMMENT.match(self._text, self._at):
            hint = "Leave comments out; between two minus signs is a blank"
            self.fail(f"a comment, '{shortened(self._text[self._at :], 20)}'", hint)
        match = _TOKEN.match(self._text, self._at)
        if match is None and (rest := self._text[self._at :].strip()):
            self.fail(f"'{shortened(rest, 20)}' where SQL goes on", _hint_at(rest))
        self.token = "" if match is None else match[1]
        self._at = len(self._text) if match is None else match.end()
        is_window = before == ")" and self.word == "over" and _OPENS.match(self._text, self._at)
        if is_window or self.word in _NOT_READ:
            hint = f"Write the query without {self.token}, or leave it out, and its question"
            self.fail(f"'{self.token}', which is not read", hint)
        return before

    def accept(self, *words: str) -> bool:
        """Whether the next token is one of these; it is taken, then."""
        if self.word not in words:
            return False
        self.advance()
        return True

    def expect(self, word: str) -> None:
        if not self.accept(word):
            self.fail(f"{self.here()} where {word.upper()} is expected", "Mend the query")

    def name(self) -> str:
        if not NAME.fullmatch(self.token) or self.word in RESERVED:
            self.fail(f"{self.here()} where a name is expected", "Mend the query")
        return self.advance()

    @contextlib.contextmanager
    def brackets(self) -> Iterator[None]:
        """Takes the brackets around what is read within."""
        self.expect("(")
        self._depth += 1
        if self._depth > _MOST_BRACKETS:
            self.fail(f"brackets are nested more than {_MOST_BRACKETS} deep", "Is it a query?")
        yield
        self._depth -= 1
        self.expect(")")

    def here(self) -> str:
        return f"'{self.token}'" if self.token else "the end"

    def fail(self, found: str, hint: str) -> NoReturn:
        raise InputError(self._path, self._line, f"{found}: {shortened(self._text, 60)}", hint)


def _query(reader: _Reader) -> Expression:
    return _set(reader, _select(reader))


def _set(reader: _Reader, left: Expression, names: tuple[str, ...] = SETS) -> Expression:
    """A query and those that UNION and the like join to it, from left to right, by INTERSECT first."""
    while reader.word in names:
        name = reader.advance().lower()
        if name == "union" and reader.accept("all"):
            name = "union_all"
        is_in_brackets = reader.token == "("
        first = _select(reader)
        right = first if name in TIGHT else _set(reader, first, TIGHT)
        if is_in_brackets and right is first and is_ordered(Expression(name, (left, right))):
            reader.fail(
                f"ORDER BY or LIMIT in brackets behind {name.upper()}",
                "Without brackets it is of the whole query; what a part of one has is not told from that",
            )
        left = Expression(name, (left, right))
    return left


def _select(reader: _Reader) -> Expression:
    if reader.token == "(":
        return _query_in_brackets(reader)
    reader.expect("select")
    name = "select_distinct" if reader.accept("distinct") else "select"
    columns = [_column(reader)]
    while reader.accept(","):
        columns.append(_column(reader))
    parts = [columns[0] if len(columns) == 1 else Expression(COLUMNS, tuple(columns))]
    if reader.accept("from"):
        parts.append(_from(reader))
    if reader.accept("where"):
        parts.append(Expression("where", (_condition(reader),)))
    if reader.accept("group"):
        reader.expect("by")
        parts.append(Expression("group", _several(reader)))
    if reader.accept("having"):
        parts.append(Expression("having", (_condition(reader),)))
    if reader.accept("order"):
        reader.expect("by")
        parts.append(Expression("order", _ordered(reader)))
    for clause in ("limit", "offset"):
        if reader.accept(clause):
            parts.append(Expression(clause, (_sum(reader),)))
    return Expression(name, tuple(parts))


def _query_in_brackets(reader: _Reader) -> Expression:
    with reader.brackets():
        return _query(reader)


def _in_brackets(reader: _Reader) -> Expression:
    """A query, or an expression, in brackets."""
    with reader.brackets():
        return _query_or_condition(reader)


def _query_or_condition(reader: _Reader) -> Expression:
    found = _select(reader) if reader.word == "select" else _condition(reader)
    return _set(reader, found) if found.name in QUERIES and found.arguments else found


def _column(reader: _Reader) -> Expression:
    if reader.accept("*"):
        return Expression("*")
    return _renamed(reader, _condition(reader))


def _renamed(reader: _Reader, found: Expression) -> Expression:
    """With the alias behind it, if there is one."""
    if reader.accept("as") or (NAME.fullmatch(reader.token) and reader.word not in RESERVED):
        return Expression("as", (found, Expression(reader.name())))
    return found


def _from(reader: _Reader) -> Expression:
    tables = [_joined(reader)]
    while reader.accept(","):
        tables.append(_joined(reader))
    return Expression("from", tuple(tables))


def _joined(reader: _Reader) -> Expression:
    """A table and those that are joined to it, from left to right."""
    left = _table(reader)
    while True:
        kind = reader.word
        if reader.accept("left", "right", "full"):
            reader.accept("outer")
        elif reader.accept("inner", "cross", "natural"):
            kind = "" if kind == "inner" else kind
        elif kind == "join":
            kind = ""
        else:
            return left
        reader.expect("join")
        parts = [left, _table(reader)]
        if reader.accept("on"):
            parts.append(_condition(reader))
        left = Expression(f"{kind}_join".lstrip("_"), tuple(parts))


def _table(reader: _Reader) -> Expression:
    found = _query_in_brackets(reader) if reader.token == "(" else Expression(reader.name())
    return _renamed(reader, found)


def _several(reader: _Reader) -> tuple[Expression, ...]:
    found = [_condition(reader)]
    while reader.accept(","):
        found.append(_condition(reader))
    return tuple(found)


def _ordered(reader: _Reader) -> tuple[Expression, ...]:
    found: list[Expression] = []
    while not found or reader.accept(","):
        each = _condition(reader)
        direction = reader.word
        found.append(Expression(direction, (each,)) if reader.accept("asc", "desc") else each)
    return tuple(found)


def _condition(reader: _Reader) -> Expression:
    return _all_of(reader, "or", lambda: _all_of(reader, "and", lambda: _negation(reader)))


def _all_of(reader: _Reader, word: str, part: Callable[[], Expression]) -> Expression:
    parts = [part()]
    while reader.accept(word):
        parts.append(part())
    return parts[0] if len(parts) == 1 else Expression(word, tuple(parts))


def _negation(reader: _Reader) -> Expression:
    negations = 0
    while reader.accept("not"):
        negations += 1
    found = _comparison(reader)
    for _ in range(negations):
        found = Expression("not", (found,))
    return found


def _comparison(reader: _Reader) -> Expression:
    left = _sum(reader)
    if reader.accept("is"):
        name = "is_not_null" if reader.accept("not") else "is_null"
        reader.expect("null")
        return Expression(name, (left,))
    negated = "not_" if reader.accept("not") else ""
    word = reader.word
    if word in ("in", "between", "like"):
        reader.advance()
        if word == "in":
            return Expression(f"{negated}in", (left, *_members(reader)))
        parts = [left, _sum(reader)]
        if word == "between":
            reader.expect("and")
            parts.append(_sum(reader))
        return Expression(negated + word, tuple(parts))
    if negated:
        reader.fail(f"{reader.here()} where IN, BETWEEN or LIKE is expected", "Mend the query")
    if word in COMPARISONS:
        reader.advance()
        return Expression(word, (left, _sum(reader)))
    return left


def _members(reader: _Reader) -> tuple[Expression, ...]:
    """What stands in the brackets behind IN."""
    with reader.brackets():
        if reader.word == "select":
            return (_query(reader),)
        found = _several(reader)
        # A query whose first part is in brackets goes on.
        return (_set(reader, found[0]),) if len(found) == 1 and found[0].name in QUERIES else found


def _sum(reader: _Reader) -> Expression:
    used: set[str] = set()

    def product() -> Expression:
        return _leftwards(reader, PRODUCTS, lambda: _signed(reader), used)

    found = _leftwards(reader, ADDITIONS, product, used)
    if "||" in used and len(used) > 1:
        told = " and ".join(sorted(used - {"||"}))
        hint = "Put brackets around what comes first, in which databases differ"
        reader.fail(f"|| beside {told} without brackets", hint)
    return found


def _leftwards(
    reader: _Reader, operators: tuple[str, ...], part: Callable[[], Expression], used: set[str]
) -> Expression:
    """Parts and the operators between them, which are added to those that are used."""
    left = part()
    while reader.word in operators:
        operator = reader.advance()
        used.add(operator)
        left = Expression(operator, (left, part()))
    return left


def _signed(reader: _Reader) -> Expression:
    signs = 0
    while reader.accept("-"):
        signs += 1
    found = _whole(reader)
    for _ in range(signs):
        found = Expression("-", (found,))
    return found


def _whole(reader: _Reader) -> Expression:
    """A constant, a number, a column, a function, or something in brackets."""
    token = reader.token
    if token == "(":
        return _in_brackets(reader)
    if token[:1] in ("'", '"'):
        reader.advance()
        inner = token[1:-1].replace(2 * token[0], token[0])
        return Expression(f"'{inner}'")
    if NUMBER.fullmatch(token):
        return Expression(reader.advance())
    if reader.word == "null":
        reader.advance()
        return Expression("null")
    if reader.word in ("exists", "all"):
        return Expression(reader.advance().lower(), (_query_in_brackets(reader),))
    name = reader.name()
    if reader.token != "(":
        return Expression(name)
    if name in WORDS:
        means = "several columns are" if name == COLUMNS else f"{name.upper().replace('_', ' ')} is"
        reader.fail(f"a function called {name}", f"Call it otherwise; so {means} called here")
    with reader.brackets():
        return _function(reader, name)


def _function(reader: _Reader, name: str) -> Expression:
    if reader.accept("*"):
        return Expression(name, (Expression("*"),))
    if reader.accept("distinct"):
        return Expression(name, (Expression("distinct", _several(reader)),))
    if reader.token == ")":
        reader.fail(
            f"nothing in the brackets of {name}", "A function without arguments cannot be told from a column"
        )
    return Expression(name, _several(reader))

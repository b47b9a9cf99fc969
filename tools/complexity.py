"""Prints how dense the code is: complex functions, their branches a line, tokens a line, and tokens in all.

`python tools/complexity.py [FOLDER] [--most N]`: of the Python files below a folder, by default those of ``src``.
Docstrings and comments are not counted. ``--most`` lists so many of the most complex functions.

The complexity of a function is one and its branches: ``if``, ``for``, ``while``, ``except``, ``assert``, a ``case``, a
conditional expression, each ``and`` and ``or``, and each ``for`` and ``if`` of a comprehension, with those of inner
functions and lambdas. A code line is one that has a token.
"""

import argparse
import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
COMPLEX = 10
"""A function with a higher complexity counts as complex."""
_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert, ast.IfExp, ast.match_case)
_UNSEEN = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Measured:
    """A function: its name, its place, its branches, and its lines of code."""

    name: str
    place: str
    branches: int
    lines: int

    @property
    def complexity(self) -> int:
        """Return the number of ways through the function, as far as its branches tell."""
        return self.branches + 1


@dataclass(slots=True)
class File:
    """A file's functions, the outer ones alone, its tokens, and its lines of code."""

    functions: list[Measured]
    tokens: int
    lines: int


def measured(path: Path) -> File:
    """Return what a file holds."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    unseen = _docstring_lines(tree)
    tokens = [
        each
        for each in tokenize.generate_tokens(io.StringIO(source).readline)
        if each.type not in _UNSEEN and not (each.type == tokenize.STRING and each.start[0] in unseen)
    ]
    lines = {line for each in tokens for line in range(each.start[0], each.end[0] + 1)}
    functions = [
        Measured(
            node.name,
            f"{path}:{node.lineno}",
            sum(map(_branches, ast.walk(node))),
            len(lines & set(range(node.lineno, (node.end_lineno or node.lineno) + 1))),
        )
        for node in _outer(tree)
    ]
    return File(functions, len(tokens), len(lines))


def _outer(tree: ast.AST) -> Iterator[Function]:
    """Yield functions and methods, but none that is inside another."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield node
        else:
            yield from _outer(node)


def _branches(node: ast.AST) -> int:
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    return int(isinstance(node, _BRANCHES))


def _docstring_lines(tree: ast.AST) -> set[int]:
    """Return the lines on which texts begin that are no values."""
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    return {each.lineno for each in texts if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=SOURCE)
    parser.add_argument("--most", type=int, default=0, metavar="N", help="List so many of the most complex functions.")
    given = parser.parse_args()
    files = [measured(path) for path in sorted(given.folder.rglob("*.py"))]
    functions = [function for file in files for function in file.functions]
    complex_ones = [each for each in functions if each.complexity > COMPLEX]
    tokens, lines = sum(each.tokens for each in files), sum(each.lines for each in files)
    branches, dense = sum(each.branches for each in complex_ones), sum(each.lines for each in complex_ones)
    print(f"functions with complexity over {COMPLEX}, %  {100 * len(complex_ones) / max(len(functions), 1):8.1f}")
    print(f"branches a line in those             {branches / max(dense, 1):8.2f}")
    print(f"tokens a code line                   {tokens / max(lines, 1):8.1f}")
    print(f"tokens without docstrings            {tokens:8,}")
    for each in sorted(complex_ones, key=lambda each: -each.complexity)[: given.most]:
        print(f"{each.complexity:4} / {each.lines:<4} {each.name:30} {each.place}")


if __name__ == "__main__":
    main()

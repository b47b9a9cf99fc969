"""The tree in the docstring of `memorist.errors` is that of its classes."""

import re

from memorist import errors


def test_the_docstring_draws_the_tree_of_the_classes() -> None:
    parents, drawn = ["MemoristError"], {"MemoristError": "Exception"}
    for bars, name in re.findall(r"^((?:│   )*)[├└]── (\w+)", errors.__doc__ or "", re.MULTILINE):
        depth = len(bars) // 4 + 1
        parents[depth:] = [name]
        drawn[name] = parents[depth - 1]

    classes = [each for each in vars(errors).values() if isinstance(each, type) and each.__module__ == errors.__name__]
    assert drawn == {each.__name__: each.__bases__[0].__name__ for each in classes}
    assert drawn.keys() == {name for name in errors.__all__ if name[0].isupper()}

"""What is done with a text that holds a secret."""

from typing import Literal, TypeAlias, get_args

Policy: TypeAlias = Literal["mask", "refuse", "keep"]
"""`mask` stores the text without the secret, `refuse` stores nothing and says so, `keep` stores it and warns."""
POLICIES: tuple[Policy, ...] = get_args(Policy)

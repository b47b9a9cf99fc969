"""Secrets in texts: keys of vendors, private keys, tokens, passwords in addresses, card numbers; and private parts.

`Settings.secrets` says what is done with a text that holds one: `mask` stores it without the secret, `refuse` stores
nothing and says so, `keep` stores it and warns. By default `after_turn`, and with it hooks, masks, and any other write
keeps. What is between ``<private>`` and ``</private>`` is never stored. What
frameworks keep of their own state is left as it is.
"""

from memorist.secrets.finding import Secret, in_texts, masked, secrets_in
from memorist.secrets.policy import POLICIES, Policy
from memorist.secrets.private import without_private

__all__ = ["POLICIES", "Policy", "Secret", "in_texts", "masked", "secrets_in", "without_private"]

"""From a query to ranked hits: candidates, fusion, time, rating."""

from memorist.recall.parts import embedded
from memorist.recall.query import Mode, Query, given_vector
from memorist.recall.recaller import Recaller, terms_of

__all__ = ["Mode", "Query", "Recaller", "embedded", "given_vector", "terms_of"]

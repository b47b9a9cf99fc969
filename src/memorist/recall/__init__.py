"""From a query to ranked hits: candidates, fusion, time, rating."""

from memorist.recall.marks import STANDING, marks_of
from memorist.recall.parts import embedded, given_vector, parts_of
from memorist.recall.recaller import Recaller, terms_of

__all__ = ["STANDING", "Recaller", "embedded", "given_vector", "marks_of", "parts_of", "terms_of"]

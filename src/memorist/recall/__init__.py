"""From a query to ranked hits: candidates, fusion, time, rating."""

from memorist.recall.passages import embedded, given_vector, parts_of
from memorist.recall.recaller import Recaller, terms_of
from memorist.recall.text_features import STANDING, marks_of

__all__ = ["STANDING", "Recaller", "embedded", "given_vector", "marks_of", "parts_of", "terms_of"]

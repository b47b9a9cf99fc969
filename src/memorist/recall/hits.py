"""From ranked rows to hits: what each matched, its signals, and what most likely replaced it."""

from collections.abc import Mapping

from memorist.recall.analysis import terms, words
from memorist.recall.calibration import within_one
from memorist.recall.index import WallIndex
from memorist.recall.question import MAX_TEXT
from memorist.recall.rank import Ranked, Search
from memorist.recall.replaced import LEAST, score_of
from memorist.records.record import Hit, Record, Replaced


def hits_of(index: WallIndex, best: Ranked, records: Mapping[int, Record], search: Search) -> list[Hit]:
    """Return the hits whose records still exist."""
    request, vector = search.request, search.vector
    asked = {term: word for word in words(request.query[:MAX_TEXT]) for term in terms(word)}
    scores, similarities = best.scores(request.mode).tolist(), within_one(best.similarities).tolist()
    signals = best.signals if request.explain else {}
    if "meaning" in signals and vector is not None:
        signals = {**signals, "background": best.scale.background(vector, index.vectors.take(best.rows))}
    if signals and request.mode == "hybrid":
        signals = {**signals, "share": best.crowd.share(best.total())}
    hits = []
    for position, (row, number) in enumerate(zip(best.rows.tolist(), best.numbers.tolist(), strict=True)):
        if number not in records:
            continue
        record = records[number]
        held = asked.keys() & (index.terms(row).split() or terms(record.text)) if asked else ()
        matched = tuple(dict.fromkeys(word for term, word in asked.items() if term in held)) if held else ()
        told = {name: float(values[position]) for name, values in signals.items()}
        replaced = None
        if best.by is not None and best.likely is not None and int(best.by[position]) in records:
            later = records[int(best.by[position])]
            score = score_of(float(best.likely[position]), record.text, later.text)
            replaced = Replaced(later.id, later.at, score) if score >= LEAST else None
        hits.append(Hit(record, similarities[position], scores[position], matched, told, replaced))
    return hits

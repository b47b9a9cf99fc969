"""The scale of an embedder's cosines: each spreads unrelated texts differently, and the weights fit one."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memorist.embedders import BatchedEmbedder, BundledEmbedder, Embedder, OnnxEmbedder, Role
from memorist.embedders.bundled import FINGERPRINT
from memorist.embedders.onnx import BUNDLED
from memorist.recall.artefact import artefact, numbers
from memorist.recall.heads import Heads, heads_of
from memorist.recall.index import Floats

FLOOR, SPREAD = 0.3726, 0.0613
"""Mean and standard deviation of the cosines of `QUESTIONS` and `TEXTS` with the bundled model."""
_LEAST_SPREAD = 0.005
_ACROSS, _LIFT = 1.35, -0.05
"""Bring the cosines of a question in another language with English texts to the mean and the spread of those with
texts in its own."""
_WIDER, _CENTRE = 1.2, 0.39
"""Bring the cosines of a question in another language, which lie closer together, to the spread of those in English."""
_FOREIGN_FLOOR = 0.41
"""The mean cosine of `QUESTIONS` and texts in another language than English."""
QUESTIONS = (
    "When does the night train to the coast leave?", "How do I descale a coffee machine?",
    "Which of her cousins plays the cello?", "What is the capital gains tax on a second home?",
    "Why does the tomato plant have yellow leaves?", "Where did we park the car at the stadium?",
    "Which function returns the current user's session?", "How long must the bread dough rest?",
    "Who won the chess club's winter tournament?", "What medicine was prescribed for the cough?",
    "How many vacation days are left this year?", "What did the landlord say about the heating?",
    "What does Marta do to relax?", "When did Jon start his new job?", "What gift did I buy for my niece?",
    "Could you suggest a good series for tonight?", "Where does Aisha want to travel next?",
    "What kind of books does he like to read?", "How old was I when we moved?", "Who helped Leo with the garden?",
)  # fmt: skip
TEXTS = (
    "The museum of glass is closed on Mondays.", "My brother sold his motorbike and bought a canoe.",
    "The invoice for March was paid by bank transfer.", "We adopted a grey kitten called Pixel last autumn.",
    "Open a pull request against the release branch.", "The dentist recommended a softer toothbrush.",
    "Her thesis is about medieval trade routes.", "Grandma's soup needs fresh dill and two leeks.",
    "The printer on the third floor is out of toner.", "He runs ten kilometres along the river before work.",
    "The concert was moved to the open-air stage.", "Returns a list of all countries with their currencies.",
    "Hey, long time no see! How have you been?", "Wow, that looks delicious, you really outdid yourself.",
    "Thanks so much, that means a lot to me.", "I finally signed up for the pottery class yesterday.",
    "Yeah, the traffic was terrible this morning.", "Sure, here are five ways to back up your photos.",
    "I've been feeling a bit stressed about the exam.", "By the way, my passport expires in June.",
)  # fmt: skip
"""Twenty questions and twenty texts that have nothing to do with each other."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Converts an embedder's cosines to the scale of the bundled model: factor * cosine + offset.

    `moved` tells that the question's vector comes from another model than those of English texts.
    `questions` and `texts` are the means of the embedded `QUESTIONS` and `TEXTS`; None where they are not known.
    `heads` tell what a text does.
    """

    factor: float = 1.0
    offset: float = 0.0
    questions: Floats | None = field(default=None, compare=False)
    texts: Floats | None = field(default=None, compare=False)
    heads: Heads = field(default=Heads({}), compare=False)
    moved: bool = field(default=False, compare=False)

    def levelled(self, cosines: Floats, foreign: NDArray[np.bool_]) -> Floats:
        """Return the cosines of some rows with one question as if all texts were in the question's language.

        A question in another language than English is nearer to what is in its own: vectors of one model have more in
        common than those of two.
        """
        if not self.moved:
            return cosines
        levelled: Floats = np.where(foreign, cosines, np.float32(_ACROSS) * cosines + np.float32(_LIFT))
        return np.float32(_WIDER) * levelled + np.float32((1 - _WIDER) * _CENTRE)

    def fit(self, cosines: Floats) -> Floats:
        """Return the cosines on the scale that the weights were chosen on."""
        if self == _SAME:
            return cosines
        fitted: Floats = (np.float32(self.factor) * cosines + np.float32(self.offset)).astype(np.float32)
        return fitted

    def generic(self, rows: Floats, foreign: NDArray[np.bool_]) -> Floats:
        """Return how much nearer than other texts each row is to any question at all; 0 where that is not known."""
        if self.questions is None:
            return np.zeros(len(rows), np.float32)
        usual = np.where(foreign, np.float32(_FOREIGN_FLOOR), np.float32(FLOOR))
        nearer: Floats = self.fit(rows @ self.questions) - usual
        return nearer

    def background(self, vector: Floats, rows: Floats) -> Floats:
        """Return for each row the fitted cosine that it would have with an unrelated question.

        It lies halfway between the question's mean cosine with `TEXTS` and the row's with `QUESTIONS`: some questions
        are near to every text, and some texts to every question.
        """
        if self.questions is None or self.texts is None:
            return np.full(len(rows), FLOOR, np.float32)
        asked, said = vector @ self.texts, rows @ self.questions
        if self.moved:  # a text in the question's language is as near as an English one would be on its scale
            level = self.levelled(np.array([asked], np.float32), np.array([False]))
            return self.fit((level + (said - _FOREIGN_FLOOR) / 2).astype(np.float32))
        return self.fit(((asked + said) / 2).astype(np.float32))


_SAME = Scale()


async def measure(embedder: BatchedEmbedder) -> Scale:
    """Return the scale of an embedder, from some forty short texts that it is asked to embed.

    The bundled ones are not asked: the weights were chosen with the English model, in whose space the vectors of all
    languages are, and its means are `_MEANS`.

    Raises:
        EmbedderError: it cannot embed them.
    """
    if _is_bundled(embedder.inner):
        means = _decoded(_MEANS, _STEPS).reshape(2, -1)
        return Scale(questions=means[0], texts=means[1], heads=bundled_heads())
    questions = await embedder.embed(list(QUESTIONS), Role.QUERY)
    texts = await embedder.embed(list(TEXTS), Role.DOCUMENT)
    cosines = questions @ texts.T
    factor = SPREAD / max(float(cosines.std()), _LEAST_SPREAD)
    offset = FLOOR - factor * float(cosines.mean())
    return Scale(factor, offset, questions.mean(axis=0), texts.mean(axis=0), await heads_of(embedder))


def bundled_heads() -> Heads:
    """Return the heads of the bundled models, in whose common space the vectors of all languages are."""
    return Heads({name: numbers(coded) for name, coded in artefact()["heads"].items()})


def _is_bundled(inner: Embedder) -> bool:
    """Return whether an embedder's vectors are those of the bundled models, which another may wrap."""
    english = isinstance(inner, OnnxEmbedder) and inner.folder == BUNDLED
    return english or isinstance(inner, BundledEmbedder) or inner.fingerprint.startswith(FINGERPRINT)


def _decoded(coded: str, steps: int) -> Floats:
    """Return the numbers that are kept as signed bytes in base64, so many steps to 1."""
    return np.frombuffer(b64decode(coded), np.int8).astype(np.float32) / np.float32(steps)


_STEPS = 390
_MEANS = (
    "+QQI/wv+CQj99wL3+QwD/wAC6wH2//v3DQv+/Ozb/PwB/gECA/4ADQgF/QQA/QP9DPwC/v8CAAgECQcLBv7EEvgE+OwHFv3/+g0G+wIFAQL9+/z/"
    "+AD8/wQE/f8AAuT2/Af1dvoHBfz1+wf+AP77+Az3CwcQCvgF/wEDBQH+DBb//QkB/QT/C/vzB/n47QD4+/38/v0VAgID9QkMCQz0BPr49gn/4fkH"
    "//UICPACFQEDAf8I/fX5CgH7/PoG/wAA9gv++vkBBf///voB/wQD+gYGAAUE9/8H9wADAATp9pYF+fUK+AD7AwkK+vz9/ggKAPz9CPn38gn7KAsL"
    "5xADBuIDAxYB+fcBD+r++/8I/AIDBQb++AIG8wT5CQEFA/oFAf3+APz3A/H6FQcJCfz+BvMM/gAC/f0F/AEB/vwL/bAHAAj/AAEF+P0VAwYKBgUL"
    "DAD9DAYoCfwFAAgEAAgIFPoH+vgRAvj1Cvv/Gfr4+vYAAfwAAwUH+foC//73CfwG+f4L+QL6Dgf+/Pv+BwYD/AX65QT/+AL3BA0B+PXfAP0A/gYC"
    "9gX4ABUG8/oE+wUCHfoC+AME/wkRAwYACgbUDf/9+PoIDAD9BgoJ/QL/9QEF/AMD9wQD/wUAA/oBCPP2AQ3/fvcEDfz8Af/+/AEA/Q37AwoF//b9"
    "/wr/A/kCGhYEBwH1+voA/f74B/z27/fxBQ8DBA31AQgB+gX/ChMBBQb3+P8L7P39Af8DBvgEIP3/BfsCCv/zBQb/9vwBBgcJ9gD98vYB/QH99/4I"
    "DAcF+QoJAP0h/v77AQn//wX2AJcA/PsJ+AP9CQQR+gIDAAIDDf76/QL2+QT+OwT8+AYEAdgJDRIE/v3+Bf3xBP72AvoJBPgIBAr28wL1Bv8DA/n/"
    "Avn5AwL3A/buCAYBCPz+BvcDAv8G/wH7A/wC+AMQA54F9/38CQMP9gMJ/wD4CgUD+wH5BQYt//4C+wMI/QT4BfUC/PQBAfzz//P3Fvj5+gMCAvn6"
    "BAQE8wIC/P7y//8C"
)
"""The means of `QUESTIONS` and of `TEXTS` with the bundled model: signed bytes, as many to 1 as `_STEPS`, in base64."""

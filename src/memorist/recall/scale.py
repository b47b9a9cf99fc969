"""What an embedder's cosines are worth: each spreads unrelated texts differently, and the weights know one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memorist.embedders import BatchedEmbedder, OnnxEmbedder, Role
from memorist.embedders.onnx import BUNDLED
from memorist.recall.index import Floats

__all__ = ["Scale", "measure"]

FLOOR, SPREAD = 0.3726, 0.0613
"""Mean and standard deviation of the cosines of `QUESTIONS` and `TEXTS` with the bundled model."""
_LEAST_SPREAD = 0.005

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
    """Brings an embedder's cosines to where the bundled model would have put them: factor * cosine + offset."""

    factor: float = 1.0
    offset: float = 0.0

    def fit(self, cosines: Floats) -> Floats:
        """Return the cosines on the scale that the weights were chosen on."""
        if self == _SAME:
            return cosines
        fitted: Floats = (np.float32(self.factor) * cosines + np.float32(self.offset)).astype(np.float32)
        return fitted


_SAME = Scale()


async def measure(embedder: BatchedEmbedder) -> Scale:
    """Return the scale of an embedder, from some forty short texts that it is asked to embed.

    The bundled model is not asked: the weights were chosen with it.

    Raises:
        EmbedderError: it cannot embed them.
    """
    if isinstance(embedder.inner, OnnxEmbedder) and embedder.inner.folder == BUNDLED:
        return _SAME
    questions = await embedder.embed(list(QUESTIONS), Role.QUERY)
    texts = await embedder.embed(list(TEXTS), Role.DOCUMENT)
    cosines = questions @ texts.T
    factor = SPREAD / max(float(cosines.std()), _LEAST_SPREAD)
    return Scale(factor, FLOOR - factor * float(cosines.mean()))

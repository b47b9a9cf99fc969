"""Models that other libraries fetch from a hub and run: fastembed and sentence-transformers."""

from __future__ import annotations

from typing import Any, cast

from numpy.typing import ArrayLike

from memorist.embedders.base import Role
from memorist.embedders.blocking import BlockingEmbedder
from memorist.embedders.prefixes import Prefixes, prefixes_for
from memorist.embedders.sessions import without_telemetry
from memorist.errors import EmbedderError, needs


class HubEmbedder(BlockingEmbedder):
    """The common part of both: a model named as on the hub, loaded on first use."""

    library = ""

    def __init__(self, model: str, *, prefixes: Prefixes | None = None, revision: str = "", **options: Any) -> None:
        """Name a model.

        Args:
            model: Its name on the hub, or a folder the library can open.
            prefixes: The text put before each text, by role; by default the prefixes that the model was trained with.
            revision: Part of the fingerprint: change it when the model behind the same name changes.
            options: Passed to the library's own constructor (cache folder, device, threads and so on).
        """
        super().__init__(f"the {self.library} model {model!r}")
        self.model = model
        self._prefixes = prefixes
        self._revision = revision
        self._options = options

    def _load(self) -> None:
        try:
            prefixes = self._open()
        except ImportError:
            raise
        except Exception as error:  # the libraries raise whatever their hub clients raise
            raise EmbedderError(f"{self.name} cannot be loaded: {error}") from error
        if self._prefixes is None:
            self._prefixes = prefixes or prefixes_for(self.model)
        self.dimensions = len(self._vectors(["dimensions"])[0])
        # A folder's path says where the model is, not which: only its last part is the same elsewhere.
        name = self.model.replace("\\", "/").rstrip("/")
        name = name if name.count("/") == 1 and not name.startswith("/") else name.rsplit("/", 1)[-1]
        parts = [self.library, name, str(self.dimensions), self._prefixes.mark(), self._revision]
        self.fingerprint = ":".join(part for part in parts if part)

    def _encode(self, texts: list[str], role: Role) -> ArrayLike:
        prefixes = self._prefixes or Prefixes()
        return cast(ArrayLike, self._vectors([prefixes.apply(text, role) for text in texts]))

    def _open(self) -> Prefixes | None:
        """Load the model; return the prefixes in its own configuration, None if there are none."""
        raise NotImplementedError

    def _vectors(self, texts: list[str]) -> Any:
        """Return one vector for each text; the texts have their prefixes already."""
        raise NotImplementedError


class FastembedEmbedder(HubEmbedder):
    """A model of `fastembed`, by its hub name. Needs `pip install 'memorist[fastembed]'`."""

    library = "fastembed"
    _loaded_model: Any = None

    def _open(self) -> Prefixes | None:
        without_telemetry()
        with needs("fastembed", "fastembed"):
            from fastembed import TextEmbedding
        self._loaded_model = TextEmbedding(self.model, **self._options)
        return None

    def _vectors(self, texts: list[str]) -> Any:
        return list(self._loaded_model.embed(texts))


class SentenceTransformersEmbedder(HubEmbedder):
    """A model of `sentence-transformers`. Needs `pip install 'memorist[sentence-transformers]'`."""

    library = "sentence-transformers"
    _loaded_model: Any = None

    def _open(self) -> Prefixes | None:
        with needs("sentence-transformers", "sentence-transformers"):
            from sentence_transformers import SentenceTransformer
        self._loaded_model = SentenceTransformer(self.model, **self._options)
        prompts = {role: text for role, text in (self._loaded_model.prompts or {}).items() if text}
        if not prompts:
            return None
        return Prefixes(prompts.get("document", prompts.get("passage", "")), prompts.get("query", ""))

    def _vectors(self, texts: list[str]) -> Any:
        # An empty prompt, not None: with None the library would add the model's default prompt.
        return self._loaded_model.encode(texts, prompt="", show_progress_bar=False)

"""The settings in ``memory.yaml``."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from os import PathLike
from typing import Any

from memorist.errors import FormatError, InvalidInputError, needs
from memorist.operations.arguments import probability, whole
from memorist.system.handles import read_text
from memorist.system.places import expanded

_EMBEDDERS = frozenset({"default", "openai", "http", "https", "ollama", "fastembed", "sentence-transformers"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConfig:
    """The settings of a `MemoryService`.

    Args:
        chroma_path: Chroma's folder.
        collection: the collection in it. In another store it is the tenant: collections do not see each other.
        embedding_model: a model that Ollama serves here, or any embedder that `memorist.embedders.open_embedder`
            knows: "default" is the bundled one.
        top_k: the most episodes that a search returns.
        min_score: least cosine similarity of an episode that is found.
        store: a store to use instead of Chroma: a file or a URL, as in `Memory.open`.
        user: whose memory it is; by default one that all share.
        topic_prefixes: what a topic's key may start with.

    Raises:
        InvalidInputError: a setting is wrong; the text names it.
    """

    chroma_path: str = ".chroma"
    collection: str = "local2.memory"
    embedding_model: str = "nomic-embed-text"
    top_k: int = 5
    min_score: float = 0.3
    store: str | None = None
    user: str | None = None
    topic_prefixes: tuple[str, ...] = ("user.", "project.", "constraint.")

    def __post_init__(self) -> None:
        for name in ("chroma_path", "collection", "embedding_model"):
            if not isinstance(value := getattr(self, name), str) or not value.strip():
                raise InvalidInputError(f"{name} must be a string, not {value!r}")
        for name in ("store", "user"):
            if (value := getattr(self, name)) is not None and (not isinstance(value, str) or not value.strip()):
                raise InvalidInputError(f"{name} must be a string or null, not {value!r}")
        whole("top_k", self.top_k, 1)
        probability("min_score", self.min_score)
        prefixes = self.topic_prefixes
        if isinstance(prefixes, str) or not prefixes or not all(isinstance(each, str) and each for each in prefixes):
            raise InvalidInputError(f"topic_prefixes must be a list of strings, not {prefixes!r}")
        object.__setattr__(self, "topic_prefixes", tuple(prefixes))

    @classmethod
    def load(cls, path: str | PathLike[str], **overrides: Any) -> "MemoryConfig":
        """Return the settings of a YAML file; `overrides` that are not None replace them.

        Needs ``pip install 'memorist[local2]'``.

        Raises:
            FormatError: the file is not YAML, or not a mapping.
            InvalidInputError: it has an unknown or a wrong setting.
            OSError: it cannot be read.
        """
        with needs("pyyaml", "local2"):
            import yaml  # type: ignore[import-untyped]
        try:
            said = yaml.safe_load(read_text(path))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise FormatError(f"{path} is not YAML: {error}") from error
        if not isinstance(said, Mapping | None):
            raise FormatError(f"{path} must hold settings such as `top_k: 5`, one per line")
        given = {name: value for name, value in overrides.items() if value is not None}
        return cls.of({**(said or {}), **given}, where=f"{path}: ")

    @classmethod
    def of(cls, said: Mapping[str, Any], where: str = "") -> "MemoryConfig":
        """Return the settings of a mapping; `where` begins the text of an error.

        Raises:
            InvalidInputError: a setting is unknown or wrong.
        """
        known = [each.name for each in dataclasses.fields(cls)]
        for name in said:
            if name not in known:
                raise InvalidInputError(f"{where}there is no setting {name!r}; available: {', '.join(known)}")
        try:
            return cls(**said)
        except InvalidInputError as error:
            raise InvalidInputError(f"{where}{error}") from error

    @property
    def embedder(self) -> str:
        """The embedder, as `Memory.open` takes it: a plain name is a model that Ollama serves."""
        model = self.embedding_model.strip()
        name = model.partition(":")[0]
        ours = name in _EMBEDDERS or bool(entry_points(group="memorist.embedders", name=name))
        return model if ours or expanded(model).is_dir() else f"ollama:{model}"

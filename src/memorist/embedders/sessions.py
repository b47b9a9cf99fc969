"""Opening a model in onnxruntime: from a copy that it has optimised before, where there is one.

To optimise the bundled model takes half of the time of loading it. So the first process that loads a model stores the
optimised model in the user's cache folder, under the fingerprint of the weights and the version of onnxruntime. The
weights are in a file of their own there, which onnxruntime maps into memory instead of copying them. Any
file may be deleted at any time. If the folder is not writable, each process optimises the model for itself.
"""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memorist.errors import EmbedderError, InvalidInputError
from memorist.system.places import folder

if TYPE_CHECKING:
    import onnxruntime

_MODEL, _WEIGHTS = "model.onnx", "weights.bin"
_LARGEST = 256 * 1024 * 1024
"""The most bytes of weights of a model that is kept."""


def without_telemetry() -> None:
    """Keep onnxruntime from sending reports to its maker, as versions from 1.29 on do by default.

    onnxruntime reads the variable once, when it is loaded. A value that the user has set stays.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def cache_folder() -> Path:
    """Return where optimised models are: MEMORIST_CACHE, or the user's cache folder on this system."""
    given = os.environ.get("MEMORIST_CACHE")
    return Path(given) if given else folder("cache")


def open_session(weights: Path, digest: str, *, brief: bool = False) -> onnxruntime.InferenceSession:
    """Return a session that runs a model on one thread.

    Args:
        weights: the ONNX file.
        digest: the SHA-256 of the weights.
        brief: open it in half the time, for a few runs that each take some milliseconds longer.

    Raises:
        EmbedderError: the file cannot be loaded.
    """
    without_telemetry()
    import onnxruntime

    kept = None
    with suppress(InvalidInputError):  # there is no home folder, and the copy is not needed
        kept = cache_folder() / f"{digest[:32]}-{onnxruntime.__version__}-{platform.machine()}"
    if kept is not None and kept.is_dir():
        try:
            return _session(kept / _MODEL, optimised=True, brief=brief)
        except Exception:  # the library's own errors share no narrower base
            _remove(kept)
    if kept is not None and weights.stat().st_size <= _LARGEST:
        with suppress(Exception):  # likewise: the copy is not needed
            return _keeping(weights, kept)
    try:
        return _session(weights)
    except Exception as error:
        raise EmbedderError(f"cannot load {weights}: {error}") from error


def _keeping(weights: Path, kept: Path) -> onnxruntime.InferenceSession:
    """Return a session, and keep the optimised model."""
    import tempfile

    kept.parent.mkdir(parents=True, exist_ok=True)
    copies = f"{kept.name.partition('-')[0]}-"  # old copies of this model; a killed process leaves one behind
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix=copies) as beside:
        made = Path(beside) / kept.name
        made.mkdir()
        session = _session(weights, kept_as=made / _MODEL)
        for each in made.iterdir():
            with each.open("rb+") as file:
                os.fsync(file.fileno())  # the bytes must be on the disk before the name
        for old in kept.parent.glob(f"{copies}*"):
            if old not in (kept, made.parent):
                _remove(old)
        with suppress(OSError):  # another process has stored the model meanwhile
            made.rename(kept)
    return session


def _remove(kept: Path) -> None:
    import shutil

    shutil.rmtree(kept, ignore_errors=True)
    with suppress(OSError):  # in older versions, a copy was a single file
        kept.unlink(missing_ok=True)


def _session(
    file: Path, *, kept_as: Path | None = None, optimised: bool = False, brief: bool = False
) -> onnxruntime.InferenceSession:
    import onnxruntime

    if os.environ.get("ORT_DISABLE_TELEMETRY") == "1":
        onnxruntime.disable_telemetry_events()  # on Windows, onnxruntime does not read the variable
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # To plan which tensors share memory takes a third of opening; the arena reuses it as well, and runs are as fast.
    options.enable_mem_reuse = False
    if brief:  # the weights stay as they are mapped; else each is copied in the order in which a run reads it
        options.add_session_config_entry("session.disable_prepacking", "1")
    if optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if kept_as is not None:
        options.optimized_model_filepath = str(kept_as)
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", _WEIGHTS)
        # Each part in that file is opened and mapped by itself, which takes longer than to copy a small one.
        options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "16384")
        # The highest level adds steps that are specific to this processor and useless for a text encoder.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])

"""What to do with a file of a format that is not read, by its suffix."""

from collections.abc import Iterable
from pathlib import PurePosixPath

_ADVICE = {
    "save it as DOCX, PDF or plain text, and give that": ".doc .docm .odt .rtf .pages .wpd .ppt .pptx .odp .key",
    "save each of its sheets as CSV, and give those": ".xls .xlsx .xlsm .ods .numbers",
    "export its mail as mbox or .eml, and give that": ".pst .ost .olm .msg",
    "export its notes as Markdown, and give the folder": ".enex .one .onepkg .textbundle .htm .html",
    "convert it to PDF or plain text, and give that": ".epub .mobi .azw3",
    "unpack it, and give the folder": ".7z .rar .tar .gz .tgz .bz2 .xz .zst",
    "give a transcript of it as plain text": ".mp3 .m4a .wav .ogg .opus .flac .mp4 .mov .mkv .webm .avi",
    "images are not read; give their text as plain text": ".jpg .jpeg .png .gif .webp .heic .bmp .tif .tiff .svg",
}
_BY_SUFFIX = {suffix: advice for advice, suffixes in _ADVICE.items() for suffix in suffixes.split()}
_MOST_SUFFIXES = 5


def advice_for(name: str) -> str | None:
    """Return what to do with a file that is not read, None where its suffix says nothing."""
    return _BY_SUFFIX.get(PurePosixPath(name).suffix.lower())


def advice_on(names: Iterable[str]) -> list[str]:
    """Return what to do with files that are not read, once for each suffix, as ".doc: save it as DOCX"."""
    suffixes = dict.fromkeys(PurePosixPath(name).suffix.lower() for name in names)
    known = [suffix for suffix in suffixes if suffix in _BY_SUFFIX]
    return [f"{suffix}: {_BY_SUFFIX[suffix]}" for suffix in known[:_MOST_SUFFIXES]]

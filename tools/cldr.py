"""Write what the Unicode CLDR knows of a language into its table: months, weekdays, relative days, forms of dates.

    npm pack cldr-dates-full && tar xzf cldr-dates-full-*.tgz
    python tools/cldr.py package [CODE …]

The part "cldr" of each table, its last, is written anew; the rest stays as it is.
"""

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memorist.languages import plain

TABLES = Path(__file__).parents[1] / "src" / "memorist" / "languages" / "tables"
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_STEPS = ("-2", "-1", "0", "1", "2")
_MARKS = re.compile("[\u200e\u200f]")


def part_of(folder: Path, code: str) -> dict[str, Any]:
    """Return the part of a language's table that comes from the CLDR."""
    dates = _read(folder, code, "ca-gregorian")["calendars"]["gregorian"]
    fields = _read(folder, code, "dateFields")["fields"]
    months, weekdays = dates["months"], dates["days"]
    numbers = [str(month) for month in range(1, 13)]
    steps = {step: _relative(fields["day"], step) for step in _STEPS}
    told = [day for day in steps.values() if day]
    return {
        "months": [_forms(months, month, ("wide",)) for month in numbers],
        "months_short": [_forms(months, month, ("abbreviated",)) for month in numbers],
        "weekdays": [_forms(weekdays, day, ("wide",)) for day in _DAYS],
        "weekdays_short": [_forms(weekdays, day, ("abbreviated",)) for day in _DAYS],
        "days": {step: [day] for step, day in steps.items() if day and told.count(day) == 1},
        "periods": {
            step: {unit: [text] for unit in ("week", "month", "year") if (text := _relative(fields[unit], step))}
            for step in ("-1", "0", "1")
        },
        "written": {
            "day": _template(dates["dateFormats"]["long"], dates),
            "month": _template(dates["dateTimeFormats"]["availableFormats"]["yMMMM"], dates),
            "months": [months["format"]["wide"][month] for month in numbers],
            "months_alone": [months["stand-alone"]["wide"][month] for month in numbers],
        },
    }


def _read(folder: Path, code: str, name: str) -> Any:
    return json.loads((folder / "main" / code / f"{name}.json").read_bytes())["main"][code]["dates"]


def _relative(field: dict[str, Any], step: str) -> str:
    return _plain(str(field.get(f"relative-type-{step}", "")))


def _plain(text: str) -> str:
    """Return a text as texts are compared with it."""
    return plain(_MARKS.sub("", text))


def _forms(names: Any, key: str, widths: Iterable[str]) -> list[str]:
    """Return the names of a month or a day in words, as patterns."""
    found = [_plain(names[context][width][key]) for width in widths for context in ("format", "stand-alone")]
    return list(dict.fromkeys(_pattern(name) for name in found if not re.search(r"\d", name)))


def _pattern(name: str) -> str:
    return f"{re.escape(name[:-1])}\\.?" if name.endswith(".") else re.escape(name).replace("\\ ", " ")


def _template(form: str, dates: Any) -> str:
    """Return a date format of the CLDR as a template: "d. MMMM y" as "{d}. {month} {y}"."""
    named = {
        "MMMM": "{month}",
        "LLLL": "{alone}",
        "M": "{m}",
        "d": "{d}",
        "y": "{y}",
        "G": dates["eras"]["eraAbbr"]["1"],
    }
    pieces = re.findall(r"'([^']*)'|([MLdyG]+)|(.)", _MARKS.sub("", form))
    return "".join(quoted or named.get(field, field) or other for quoted, field, other in pieces)


def write(folder: Path, code: str) -> None:
    """Write the part of one table anew."""
    path = TABLES / f"{code}.json"
    head, known, _ = path.read_text("utf-8").partition(',\n  "cldr": ')
    if not known:
        head = head.rstrip().removesuffix("}").rstrip()
    rows = [
        f"    {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        for key, value in part_of(folder, code).items()
    ]
    path.write_text(head + ',\n  "cldr": {\n' + ",\n".join(rows) + "\n  }\n}\n", "utf-8")


if __name__ == "__main__":
    for each in sys.argv[2:] or sorted(path.stem for path in TABLES.glob("*.json")):
        write(Path(sys.argv[1]), each)

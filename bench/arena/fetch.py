"""Fetch data sets that may not be shipped from their publishers, check their hashes, and write them for run.py.

    python bench/arena/fetch.py FOLDER [locomo | realtalk | longmemeval …]
    python bench/arena/run.py --data FOLDER/locomo

| name | publisher | licence |
|---|---|---|
| locomo | github.com/snap-research/locomo, its first release of ten conversations | CC BY-NC 4.0: for measuring only |
| realtalk | github.com/danny911kr/REALTALK, ten conversations of people | none stated: for measuring only |
| longmemeval | huggingface.co/datasets/xiaowu0162/longmemeval, the oracle file | MIT |

BEAM (github.com/mohammadtavakoli78/BEAM) states no licence and publishes several hundred files without a list of
hashes: it is not fetched.
"""

import argparse
import hashlib
import io
import json
import re
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_RAW = "https://raw.githubusercontent.com"
_REALTALK = f"{_RAW}/danny911kr/REALTALK/b903e06a9770bf4e5fe9018c3e132889666d3b4a/data"
FILES = {
    "locomo": {
        f"{_RAW}/snap-research/locomo/e76cdff4a04fce19090596d49862fe87a5c15aaa/data/locomo10.zip":
        "5c342973da4b45c12583c9fc7594d6410880f5aba2c491a0db09db262c906fb5",
    },
    "realtalk": {
        f"{_REALTALK}/Chat_1_Emi_Elise.json": "4e947998a751a1ba2c3710fc873b90fbcbc234fda7a5e4e75db2b762e0f25a36",
        f"{_REALTALK}/Chat_2_Kevin_Elise.json": "4ac6e319c206731aa9a025c93325eb1edb43686cf39473f058c87ae7deb2d62a",
        f"{_REALTALK}/Chat_3_Kevin_Paola.json": "10c9208016538cbe7a28aafa6cfd72587b072677964c36ec242159fdf58961f2",
        f"{_REALTALK}/Chat_4_Emi_Paola.json": "80aa012ed6a918f5b317bd942b4d4811a158d27a6e07b7a5c6182994107a9367",
        f"{_REALTALK}/Chat_5_Nicolas_Nebraas.json": "32dd7c45786b1a26861dc1574a1bb698a855196fd2ae3fc0c091f3c9ab2d6d06",
        f"{_REALTALK}/Chat_6_Vanessa_Nicolas.json": "9d5ee072ab5a0667ef71d5644d7cd3a4c6777a1e6e2252bf306f310d982e40ac",
        f"{_REALTALK}/Chat_7_Nebraas_Vanessa.json": "b5716bb093217980e747dec0d98996829b569febc09587a025efc6b79806e9ce",
        f"{_REALTALK}/Chat_8_Akib_Muhhamed.json": "814f64ad7e8a46f0398f550fe84184e2ba495a292290b9ff96ffc95448280800",
        f"{_REALTALK}/Chat_9_Fahim_Akib.json": "05b9b4331bf0e25a2a64dc89c404622c83a61ab5e7c935fb7d844449caf6dd39",
        f"{_REALTALK}/Chat_10_Fahim_Muhhamed.json": "26135a9e3482f40bea4c71de570a2d994a361848111067e60587be1dd82a0127",
    },
    "longmemeval": {
        "https://huggingface.co/datasets/xiaowu0162/longmemeval/resolve/main/longmemeval_oracle":
        "821a2034d219ab45846873dd14c14f12cfe7776e73527a483f9dac095d38620c",
    },
}  # fmt: skip
ADVERSARIAL = 5

Row = dict[str, Any]


def fetched(url: str, sha256: str, cache: Path) -> bytes:
    """Return what a publisher has at a URL, from a folder if it is there; raise SystemExit if it is something else."""
    file = cache / sha256
    if not file.exists():
        with urllib.request.urlopen(url, timeout=60) as answer:
            data = answer.read()
        if (found := hashlib.sha256(data).hexdigest()) != sha256:
            raise SystemExit(f"{url} has changed: its sha256 is {found}, not {sha256}; nothing was written")
        file.write_bytes(data)
    return file.read_bytes()


def conversations(files: Mapping[str, bytes]) -> tuple[list[Row], list[Row]]:
    """Return the rows and questions of LoCoMo's kind: each file has `session_1`, `session_2` … and `qa`."""
    rows, questions = [], []
    for group, data in files.items():
        whole = json.loads(data)
        names = sorted((key for key in whole if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:]))
        for session in names:
            day = whole.get(f"{session}_date_time")
            rows += [_said(turn, group, session, day) for turn in whole[session]]
        of = {row["id"]: row["session"] for row in rows if row["group"] == group}
        for number, asked in enumerate(whole["qa"]):
            gold = [id for id in re.findall(r"D\d+:\d+", " ".join(asked.get("evidence", []))) if id in of]
            questions.append(
                {"id": f"{group}#{number}", "group": group, "question": asked["question"],
                 "answer": asked.get("answer"), "gold": gold, "gold_sessions": list(dict.fromkeys(map(of.get, gold))),
                 "category": "5-adversarial" if asked["category"] == ADVERSARIAL else str(asked["category"])}
            )  # fmt: skip
    return rows, questions


def _said(turn: Row, group: str, session: str, day: str | None) -> Row:
    text = turn.get("text") or turn.get("clean_text") or ""
    seen = f" (a picture: {turn['blip_caption']})" if turn.get("blip_caption") else ""
    return {"id": turn["dia_id"], "group": group, "session": session, "timestamp": turn.get("date_time") or day,
            "speaker": turn["speaker"], "text": text + seen}  # fmt: skip


def locomo(files: list[bytes]) -> tuple[list[Row], list[Row]]:
    with zipfile.ZipFile(io.BytesIO(files[0])) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".json"))
        return conversations({f"conv-{Path(name).stem}": archive.read(name) for name in names})


def realtalk(files: list[bytes]) -> tuple[list[Row], list[Row]]:
    rows, questions = conversations({f"chat-{number}": data for number, data in enumerate(files, 1)})
    for row in rows:  # 29.12.2023, 00:51:12
        row["timestamp"] = re.sub(r"(\d+)\.(\d+)\.(\d+), (.*)", r"\3-\2-\1T\4", row["timestamp"] or "")
    return rows, questions


def longmemeval(files: list[bytes]) -> tuple[list[Row], list[Row]]:
    """Each question has a memory of its own: the sessions that answer it."""
    rows, questions = [], []
    for asked in json.loads(files[0]):
        group, gold = asked["question_id"], []
        sessions = zip(asked["haystack_session_ids"], asked["haystack_dates"], asked["haystack_sessions"], strict=True)
        for session, day, turns in sorted(sessions, key=lambda each: each[1]):
            for number, turn in enumerate(turns):
                id = f"{session}:{number}"
                rows.append({"id": id, "group": group, "session": session, "timestamp": _day(day),
                             "speaker": turn["role"], "text": turn["content"]})  # fmt: skip
                gold += [id] * bool(turn.get("has_answer"))
        questions.append({"id": group, "group": group, "question": asked["question"], "answer": asked["answer"],
                          "gold": gold, "gold_sessions": asked["answer_session_ids"],
                          "category": "abstention" if group.endswith("_abs") else asked["question_type"],
                          "question_date": _day(asked["question_date"])})  # fmt: skip
    return rows, questions


def _day(text: str) -> str:
    """Return 2023/05/20 (Sat) 02:21 as 2023-05-20T02:21."""
    return re.sub(r"(\d+)/(\d+)/(\d+) \(\w+\) (\S+)", r"\1-\2-\3T\4:00", text)


READERS = {"locomo": locomo, "realtalk": realtalk, "longmemeval": longmemeval}


def _lines(rows: Iterator[Row] | list[Row]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", choices=[[], *READERS], default=[], metavar="NAME")
    given = parser.parse_args()
    cache = given.folder / "fetched"
    cache.mkdir(parents=True, exist_ok=True)
    for name in given.names or READERS:
        rows, questions = READERS[name]([fetched(url, sha256, cache) for url, sha256 in FILES[name].items()])
        (given.folder / name).mkdir(exist_ok=True)
        for part, lines in (("corpus", rows), ("queries", questions)):
            (given.folder / name / f"{part}.jsonl").write_text(_lines(lines), encoding="utf-8")
        print(f"{name}: {len(rows)} messages, {len(questions)} questions")


if __name__ == "__main__":
    main()

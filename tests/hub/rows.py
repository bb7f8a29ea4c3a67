"""Print every row of a dataset as one line of JSON, images by their sha256.

python -m tests.hub.rows WHERE SPLIT READER:CONFIG...     READER is datasets, streaming or vidc
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator


def with_datasets(where: str, config: str, split: str, streaming: bool) -> Iterator[dict]:
    """The rows as ``datasets`` gives them, images undecoded."""
    from datasets import Image, load_dataset

    rows = load_dataset(where, config, split=split, streaming=streaming)
    if "image" in rows.features:
        rows = rows.cast_column("image", Image(decode=False))
    for row in rows:
        image = row.pop("image", None)
        yield row | ({"image": image["bytes"]} if image else {})


def with_vidc(where: str, config: str) -> Iterator[dict]:
    """The rows as ``vidc.load`` gives them, undecoded."""
    from dataclasses import asdict

    from vidc.reading import load

    for frame in load(where, config, decode=False):
        row = asdict(frame)
        row["objects"] = [box | {"bbox": list(box["bbox"])} for box in row["objects"]]
        row["labels"] = list(row["labels"])
        yield row


def line(row: dict) -> str:
    """A row in one line, the same whoever read it."""
    image = row.get("image")
    digest = {"image": hashlib.sha256(image).hexdigest()} if image is not None else {}
    return json.dumps(row | digest, sort_keys=True)


def main(where: str, split: str, *wanted: str) -> None:
    """Print the rows of each config asked for, an empty line after each."""
    for reader, _, config in (each.partition(":") for each in wanted):
        if reader == "vidc":
            rows = with_vidc(where, config)
        else:
            rows = with_datasets(where, config, split, reader == "streaming")
        for row in rows:
            print(line(row))  # noqa: T201
        print()  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])

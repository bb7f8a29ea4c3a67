"""Write the measured parts of README.md from RESULTS.json: ``python -m benchmarks.readme``.

Each part stands between two comments that name it, so nobody types a figure there by hand.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.measuring import Row, from_json
from benchmarks.paper_scale import scale

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
RESULTS = HERE / "RESULTS.json"

# What a reader wants to know first, in plain words; the page has the rest.
CHOSEN = {
    "one worker / obvious loop": "making a frame's three corruptions from 1280×720 JPEG on one "
    "core, against Pillow + torchvision + imagecorruptions (whose snow stands for rain)",
    "two workers / one worker": "building with two workers, against one",
    "gaussian_noise, 224×224, severity 5: faster than imagecorruptions": "Gaussian noise at "
    "224×224, against imagecorruptions",
    "snow, 224×224, severity 5: faster than imagecorruptions": "snow at 224×224, against "
    "imagecorruptions",
    "vidc.load / load_dataset(streaming=True)": "reading with `vidc.load`, every hash checked, "
    "against `load_dataset(streaming=True)`",
    "B×K×C forward / UnMix-TNS forward": "UnMix-TNS's forward on a ResNet-50, against the same "
    "formulas with B×K×C tensors",
    "UnMix-TNS forward / Source forward": "time of UnMix-TNS's forward, against Source's",
    "TENT† step / TENT step": "time of a TENT† step, against a TENT step",
    "eight columns in one pass / eight passes": "time of all eight columns in one pass, against "
    "eight passes",
    "Source pass / its forwards alone": "time of a whole Source pass, against its forwards alone",
    "UnMix-TNS forward, K = 256 / K = 16": "time of UnMix-TNS's forward with K = 256, against "
    "K = 16",
}


def rows() -> dict[str, Row]:
    """What was measured last, by name."""
    return {each["name"]: from_json(each) for each in json.loads(RESULTS.read_text("utf-8"))}


def performance(measured: Mapping[str, Row]) -> list[str]:
    """The figures that say most, as a table."""
    lines = ["| what | measured | floor |", "|---|---:|---:|"]
    for name, words in CHOSEN.items():
        _, _, _, floor, _ = measured[name].cells()
        mark = "" if measured[name].holds else " **missed**"
        lines.append(f"| {words} | {measured[name].value:.2f}× | {floor}{mark} |")
    missed = [name for name, row in measured.items() if row.holds is False and name not in CHOSEN]
    if missed:
        lines += ["", f"Missed as well: {'; '.join(missed)}."]
    return lines


PARTS: dict[str, Callable[[Mapping[str, Row]], list[str]]] = {
    "performance": performance,
    "scale": scale,
}


def rendered(text: str, measured: Mapping[str, Row]) -> str:
    """README with its measured parts made anew."""
    for name, part in PARTS.items():
        begin, end = f"<!-- {name}: made by python -m benchmarks.readme -->", f"<!-- end {name} -->"
        whole = "\n".join([begin, *part(measured), end])
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise ValueError(f"{README.name} has no place for the part '{name}'")
        text = before + whole + after
    return text


def main() -> int:
    """Rewrite README in place."""
    README.write_text(rendered(README.read_text("utf-8"), rows()), "utf-8")
    print(f"{README}: made from {RESULTS.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The pixels of every corruption as hashes: ``python -m tests.corruptions.golden`` prints them.

golden.json was written by it once, for the recipe version it names. It may change only together
with that version, and then the change is said in the dataset card.
"""

from __future__ import annotations

import itertools
import json
import sys

import cv2
import numpy as np

from tests.reference import pictures
from vidc.corruptions import RECIPE_VERSION, Key, corrupt, names
from vidc.images import pixel_hash

KEY = Key(0, "lasot", "bird-3", 7)
SIZES = ((224, 224), (113, 97), (96, 160))
OURS = ("gaussian_noise", "snow", "rain")
MOVING = ("snow", "rain")
# In these the package calls parts of OpenCV that round by the processor they run on, by a grey
# level here and there: they are held by the means of sixteen parts of the picture.
BY_PROCESSOR = ("defocus_blur", "frost")


def fingerprints(chosen):
    """The hash of each chosen corruption at each severity and size, or its means."""
    found = {}
    for height, width in SIZES:
        frame = pictures.integers(height, width)
        for name, severity in itertools.product(chosen, range(1, 6)):
            fingerprint = means if name in BY_PROCESSOR else pixel_hash
            for temporal in ("iid", "coherent") if name in MOVING else ("iid",):
                pixels = corrupt(frame, name, severity, KEY, temporal)
                found[f"{name} {severity} {height}x{width} {temporal}"] = fingerprint(pixels)
    return found


def means(pixels):
    """The mean grey level of each of sixteen parts of the picture."""
    rows = np.array_split(pixels, 4, axis=0)
    parts = [part for row in rows for part in np.array_split(row, 4, axis=1)]
    return " ".join(f"{part.mean():.2f}" for part in parts)


def instructions():
    """The vector instructions that numpy and OpenCV choose to use on this processor."""
    numpys = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    # OpenCV marks with * what it chooses by the processor, and with ? what it does not use then.
    marked = [word for word in cv2.getCPUFeaturesLine().split() if word.startswith("*")]
    return {"numpy": numpys, "opencv": [word[1:] for word in marked if not word.endswith("?")]}


if __name__ == "__main__":
    made = {"recipe version": RECIPE_VERSION, "fingerprints": fingerprints(sys.argv[1:] or names())}
    sys.stdout.write(json.dumps(made, indent=1) + "\n")

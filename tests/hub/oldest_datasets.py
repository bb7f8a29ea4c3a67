"""Load a folder with whatever ``datasets`` this Python has, and print what came out as JSON.

python -m tests.hub.oldest_datasets FOLDER CACHE. It needs ``datasets`` and Pillow alone, so that a
Python with the oldest version that vidc allows can run it.
"""

from __future__ import annotations

import json
import sys
import warnings


def main(folder: str, cache: str) -> None:
    """Print the frames of every config, loaded and streamed, and every warning."""
    import datasets

    found: dict[str, object] = {"version": datasets.__version__}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        def load(config: str, **options: object):
            return datasets.load_dataset(folder, config, split="val", cache_dir=cache, **options)

        for config in datasets.get_dataset_config_names(folder):
            for way in ("full", "streaming"):
                rows = load(config, streaming=way == "streaming")
                found[f"{config} {way}"] = [(row["video"], row["frame"]) for row in rows]
        found["label names"] = load("annotations").features["label"].names
        found["filtered"] = len(load("snow", filters=[("video", "==", "val_002")]))
    found["warnings"] = [str(warning.message) for warning in caught]
    print(json.dumps(found))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Pictures of a report page: light, dark and narrow.

python -m tests.report.screenshot results/RUN/report.html            # into the current folder
python -m tests.report.screenshot results/RUN/report.html docs/report.png   # README's picture
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

from tests.report.browser import chromium, set_scheme, set_width

README_SIZE = (1180, 1500)
NARROW = 390


def picture(driver, file: Path, width: int, height: int | None = None) -> None:
    """Save the page's top, or all of it, as a PNG."""
    set_width(driver, width, height or 900)
    full = driver.execute_script("return document.documentElement.scrollHeight")
    set_width(driver, width, height or full)
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    file.write_bytes(base64.b64decode(shot["data"]))


def main(words: list[str]) -> None:
    """One picture for README where a name is given, else all three."""
    page = Path(words[0]).resolve()
    with tempfile.TemporaryDirectory() as profile, chromium(Path(profile)) as driver:
        set_scheme(driver, "light")
        driver.get(page.as_uri())
        if len(words) > 1:
            picture(driver, Path(words[1]), *README_SIZE)
            return
        picture(driver, Path("report-light.png"), 1280)
        picture(driver, Path("report-narrow.png"), NARROW)
        set_scheme(driver, "dark")
        picture(driver, Path("report-dark.png"), 1280)


if __name__ == "__main__":
    main(sys.argv[1:])

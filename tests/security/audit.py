"""``python -m tests.security.audit MARKER``: known vulnerabilities in the pinned packages.

A vulnerability ends it with 1. Where the service that knows them cannot be reached, one line says
so and the lint goes on. MARKER is written when the service has answered, and a new answer is asked
for when constraints.txt has changed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

# The id of a vulnerability that does not concern us, and why.
EXCEPTIONS: dict[str, str] = {}
# What pip-audit and requests say of a service that is not there, or too busy to answer.
UNREACHABLE = (
    *("ConnectionError", "ConnectTimeout", "ReadTimeout", "ProxyError", "SSLError"),
    *("Could not connect to", "ChunkedEncodingError", "429 Client Error", " Server Error: "),
)
COMMAND = (
    *("-m", "pip_audit", "--vulnerability-service", "osv", "--timeout", "10", "--format", "json"),
    *("--requirement", "constraints.txt", "--disable-pip", "--no-deps"),
    *("--progress-spinner", "off"),
)


def verdict(stdout: str, stderr: str) -> tuple[bool | None, str]:
    """Whether all is well, None where nobody could be asked; and the line that says it."""
    try:
        packages = json.loads(stdout)["dependencies"]
    except ValueError:
        if any(reason in stderr for reason in UNREACHABLE):
            return None, "pip-audit: the vulnerability service cannot be reached, nothing checked"
        return False, f"pip-audit failed:\n{stderr[-2000:]}"
    skipped = [package["name"] for package in packages if "vulns" not in package]
    found = {
        f"{package['name']} {package['version']}: {entry['id']}"
        for package in packages
        for entry in package.get("vulns", [])
        if not EXCEPTIONS.keys() & {entry["id"], *entry.get("aliases", [])}
    }
    if found:
        return False, "pip-audit: known vulnerabilities in\n  " + "\n  ".join(sorted(found))
    if len(skipped) == len(packages):
        return None, "pip-audit: the vulnerability service knows none of the packages"
    unknown = f" ({len(skipped)} it does not know)" if skipped else ""
    return True, f"pip-audit: {len(packages)} packages, no known vulnerability{unknown}"


def main(marker: Path) -> int:
    done = subprocess.run([sys.executable, *COMMAND], capture_output=True, text=True)
    well, line = verdict(done.stdout, done.stderr)
    print(line)
    if well:
        marker.touch()
    return 1 if well is False else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

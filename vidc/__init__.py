"""Corrupted-video benchmarks, and test-time adaptation measured on them.

Four names are the whole API: :func:`corrupt`, ``corruptions()``, :func:`load`, :func:`evaluate`.
"""

from __future__ import annotations

__version__ = "0.1.0"

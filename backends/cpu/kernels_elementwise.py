"""NumPy kernels."""

from typing import Any

TABLE: dict[str, Any] = {}

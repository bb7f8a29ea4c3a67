"""Of a result what is the same each time that it is made."""

MAY_DIFFER = ("measured", "environment", "command")


def without_measured(value):
    """A result or a part of it, but for what may differ when a run is repeated."""
    if isinstance(value, dict):
        return {key: without_measured(each) for key, each in value.items() if key not in MAY_DIFFER}
    return [without_measured(each) for each in value] if isinstance(value, list) else value

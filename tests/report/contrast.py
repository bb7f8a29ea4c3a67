"""How well two colours are told apart, as the Web Content Accessibility Guidelines count it."""


def contrast(one, other):
    """The ratio between two colours, each red, green and blue from 0 to 1."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color):
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

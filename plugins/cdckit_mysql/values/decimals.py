"""DECIMAL as the server stores it.

MySQL source documentation, `decimal2bin`: groups of nine digits in four bytes each, the rest before the first and after
the last group in as few bytes as hold it, big end first; the top bit is set in numbers from 0 on, and all bits of
negative numbers are inverted.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_DIGITS_A_GROUP = 9
_BYTES_FOR_DIGITS = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)


@dataclass(frozen=True, slots=True)
class DecimalLayout:
    """How a DECIMAL of some precision and scale is stored.

    Attributes:
        precision: digits in all.
        scale: digits behind the point.
        groups: the size in bytes and the count of digits of each stored part, in order.
    """

    precision: int
    scale: int
    groups: tuple[tuple[int, int], ...] = field(init=False)

    def __post_init__(self) -> None:
        whole, rest = divmod(self.precision - self.scale, _DIGITS_A_GROUP)
        fraction_groups, fraction_rest = divmod(self.scale, _DIGITS_A_GROUP)
        digits = [rest, *[_DIGITS_A_GROUP] * (whole + fraction_groups), fraction_rest]
        groups = tuple((_BYTES_FOR_DIGITS[count], count) for count in digits if count)
        object.__setattr__(self, "groups", groups)

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return sum(size for size, _ in self.groups)

    def unpack(self, data: bytes) -> int:
        """The unscaled integer that the first bytes of `data` hold."""
        size = self.size
        number = int.from_bytes(data[:size], "big") ^ 1 << (8 * size - 1)
        negative = bool(number >> (8 * size - 1))
        if negative:
            number ^= (1 << 8 * size) - 1
        unscaled, bits = 0, 8 * size
        for width, digits in self.groups:
            bits -= 8 * width
            unscaled = unscaled * 10**digits + (number >> bits & (1 << 8 * width) - 1)
        return -unscaled if negative else unscaled

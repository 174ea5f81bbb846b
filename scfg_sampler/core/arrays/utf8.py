"""Whether bytes are UTF-8, for compiled loops: what Python's strict decoder takes, and nothing else.

The fact a newcomer would get wrong: three bytes of the right form may be no character still. Surrogates
(U+D800 to U+DFFF), spellings longer than need be and what is above U+10FFFF are no UTF-8 (Unicode 15,
table 3-7).
"""

from __future__ import annotations

from scfg_sampler.core.jit import borrowing

__all__ = ["is_utf8"]


@borrowing
def is_utf8(block, begin, end):
    """Whether block[begin:end] is UTF-8.

    block : uint8, shape (B,)
    """
    at = begin
    while at < end:
        lead = block[at]
        at += 1
        if lead < 0x80:
            continue
        if lead < 0xC2 or lead > 0xF4:
            return False
        length = 1 + (lead >= 0xE0) + (lead >= 0xF0)
        if end - at < length:
            return False
        low = 0xA0 if lead == 0xE0 else 0x90 if lead == 0xF0 else 0x80
        high = 0x9F if lead == 0xED else 0x8F if lead == 0xF4 else 0xBF
        if block[at] < low or block[at] > high:
            return False
        for k in range(at + 1, at + length):
            if block[k] & 0xC0 != 0x80:
                return False
        at += length
    return True

"""Ways to damage a file: of any bytes, of section files, of JSON.

`bombs` and `cuts` list damage in full; `mutant` draws one at random. Sections are walked here with
a few lines of our own, which shares nothing with the readers that are tested.
"""

from __future__ import annotations

import json
import random
import re
import struct
from collections.abc import Callable, Iterator, Sequence

Sections = list[tuple[int, bytes]]

_EXTREMES = (0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
_WIDE = (*_EXTREMES, 1 << 32, 1 << 62, 1 << 63, (1 << 64) - 12, (1 << 64) - 1)
_FIELDS = 32  # words of each section that may be counts: headers are no longer
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9]+|[\[\]{}:,]|true|false|null')


# --- section files ----------------------------------------------------------------------------


def sections_of(data: bytes) -> tuple[bytes, Sections]:
    """Magic and version, and each section's id and bytes, of a good file."""
    sections, at = [], 12
    while at < len(data):
        number, length = struct.unpack_from("<IQ", data, at)
        sections.append((number, data[at + 12 : at + 12 + length]))
        at += 12 + length
    return data[:8], sections


def joined(start: bytes, sections: Sections) -> bytes:
    """A consistent file of these sections."""
    parts = [start, struct.pack("<I", len(sections))]
    for number, body in sections:
        parts += [struct.pack("<IQ", number, len(body)), body]
    return b"".join(parts)


def count_fields(data: bytes) -> Iterator[tuple[int, str]]:
    """Where a u32 or u64 may stand: (offset, struct format); every real count is among them."""
    yield from ((4, "<I"), (8, "<I"))
    at = 12
    for _, body in sections_of(data)[1]:
        yield from ((at, "<I"), (at + 4, "<Q"))
        at += 12
        yield from ((at + i, "<I") for i in range(0, min(len(body), 4 * _FIELDS) - 3, 4))
        yield from ((at + i, "<I") for i in range(max(0, len(body) - 16), len(body) - 3, 4))
        # Headers: after the primes, which have 32 or 48 bytes and a size of 4.
        yield from ((at + i, "<Q") for i in range(0, min(len(body), 4 * _FIELDS) - 7, 4))
        at += len(body)


def bombs(data: bytes) -> Iterator[bytes]:
    """Extreme values, and the good one ± 1, in every place of a count."""
    for at, kind in count_fields(data):
        (good,) = struct.unpack_from(kind, data, at)
        top = 1 << 8 * struct.calcsize(kind)
        for value in {*(_WIDE if kind == "<Q" else _EXTREMES), (good + 1) % top, (good - 1) % top}:
            bomb = bytearray(data)
            struct.pack_into(kind, bomb, at, value)
            yield bytes(bomb)


def rearranged(data: bytes) -> Iterator[bytes]:
    """Sections dropped, doubled, exchanged, emptied, cut, lengthened: consistent containers."""
    start, sections = sections_of(data)
    for i, (number, body) in enumerate(sections):
        rest = sections[:i], sections[i + 1 :]
        yield joined(start, [*rest[0], *rest[1]])
        yield joined(start, [*sections, sections[i]])
        for other in (b"", body[:-1], body[: len(body) // 2], body + b"\0", body + body):
            yield joined(start, [*rest[0], (number, other), *rest[1]])
        for j, (other_number, other_body) in enumerate(sections[:i]):
            swapped = list(sections)
            swapped[i], swapped[j] = sections[j], sections[i]
            yield joined(start, swapped)
            swapped[i], swapped[j] = (number, other_body), (other_number, body)
            yield joined(start, swapped)


# --- any bytes --------------------------------------------------------------------------------


def cuts(data: bytes) -> Iterator[bytes]:
    """Every shorter beginning."""
    yield from (data[:length] for length in range(len(data)))


def _flipped(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        end = len(data) if rng.random() < 0.5 else min(len(data), 512)
        changed[rng.randrange(end)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwritten(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    at, length = rng.randrange(len(data)), rng.choice((1, 4, 8, 32, 48, 200))
    piece = rng.choice((b"\0" * length, b"\xff" * length, rng.randbytes(length)))
    return data[:at] + piece[: len(data) - at] + data[at + length :]


def _inserted(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    at, piece = rng.randrange(len(data) + 1), rng.randbytes(rng.choice((1, 4, 12, 32, 300)))
    return data[:at] + piece + data[at:]


def _removed(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.choice((1, 4, 12, 32, 300)) :]


def _spliced(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    other = rng.choice([data, *others])
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _copied(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """A piece of it, or of another file, over another place: whole field elements, often."""
    size = rng.choice((4, 32, 48, 64, 96, 128))
    other = rng.choice([data, *others])
    source, at = (rng.randrange(max(1, len(d) - size)) for d in (other, data))
    return data[:at] + other[source : source + size] + data[at + size :]


def _mixed_sections(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """A section of another file in the place of one of ours."""
    start, sections = sections_of(data)
    _, strange = sections_of(rng.choice([data, *others]))
    sections[rng.randrange(len(sections))] = rng.choice(strange)
    return joined(start, sections)


_Change = Callable[[bytes, Sequence[bytes], random.Random], bytes]
_OF_BYTES: tuple[_Change, ...] = (
    _flipped,
    _overwritten,
    _inserted,
    _removed,
    _spliced,
    _copied,
)


# --- JSON -------------------------------------------------------------------------------------

_NASTY_TOKENS = (
    *("NaN", "Infinity", "-Infinity", "1e999", "1.5", "-0", "-1", "00", "0x10", "true", "null"),
    *('"\\ud800"', '"\\u0000"', '"\u0661\u0662"', '"\uff11"', '" 1"', '"+1"', '"0X1f"', '"1e3"'),
    *('""', "{}", "[]", "[[[[]]]]", "9" * 5000, '"' + "9" * 5000 + '"', '"' + "f" * 200_000 + '"'),
    *("[" * 3000, "]" * 3000, '{"a":' * 3000, ",", ":", "{", "}", '"', "\\", "\0", "\ufeff"),
)


def _token_changed(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """One token replaced, doubled, dropped, exchanged with another, or a nasty one put in."""
    text = data.decode()
    tokens = [match.span() for match in _TOKEN.finditer(text)]
    (a, b), (c, d) = sorted(rng.choice(tokens) for _ in range(2))
    way = rng.randrange(5)
    if way == 0:
        changed = text[:a] + rng.choice(_NASTY_TOKENS) + text[b:]
    elif way == 1:
        changed = text[:b] + rng.choice(_NASTY_TOKENS) + text[b:]
    elif way == 2:
        changed = text[:a] + text[b:]
    elif way == 3:
        changed = text[:b] + text[a:b] + text[b:]
    else:
        changed = text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:] if b <= c else text
    return changed.encode("utf-8", "surrogatepass")


def _value_changed(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Good JSON with a value, somewhere, that is another: of its own file or of a like one."""
    value, stranger = json.loads(data), json.loads(rng.choice([data, *others]))
    places, donors = list(_places(value)), list(_values(stranger))
    if not places:
        return json.dumps(stranger).encode()
    holder, key = rng.choice(places)
    old = holder[key]
    if isinstance(old, str) and old.isdecimal() and rng.random() < 0.6:
        number = int(old)
        spellings = (str(number + rng.choice((1, -1, 1 << 256))), hex(number), f" {old}", old + "0")
        holder[key] = rng.choice((*spellings, "0" + old, f"-{old}", number, float(number)))
    elif isinstance(holder, list) and rng.random() < 0.3:
        holder.insert(key, rng.choice(donors))
    elif rng.random() < 0.2:
        del holder[key]
    else:
        holder[key] = rng.choice(donors)
    return json.dumps(value).encode()


def _places(value: object) -> Iterator[tuple[object, object]]:
    """Every (list or object, index or key)."""
    if isinstance(value, list | dict):
        for key in range(len(value)) if isinstance(value, list) else list(value):
            yield value, key
            yield from _places(value[key])


def _values(value: object) -> Iterator[object]:
    yield value
    if isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _values(part)


def _key_doubled(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """A key twice in an object, with equal or other values."""
    value = json.loads(data)
    if not isinstance(value, dict):
        return data + data
    key, other = rng.choice(list(value)), rng.choice(list(value.values()))
    return json.dumps(value).encode()[:-1] + f", {json.dumps(key)}: {json.dumps(other)}}}".encode()


# --- the choice -------------------------------------------------------------------------------


def mutant(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """One damaged copy of `data`; `others` are good files of its kind to take pieces from."""
    is_json = data[:1] in (b"{", b"[")
    own = (_token_changed, _value_changed, _value_changed, _key_doubled)
    changes = (*_OF_BYTES, *(own if is_json else (_mixed_sections,)))
    changed = rng.choice(changes)(data, others, rng)
    if not is_json or rng.random() < 0.8:
        return changed
    return _flipped(changed, others, rng) if changed else changed


def listed(data: bytes) -> Iterator[bytes]:
    """All the damage that can be listed: cuts; for a section file bombs and rearranged sections."""
    yield from cuts(data)
    if data[:1] not in (b"{", b"["):
        yield from bombs(data)
        yield from rearranged(data)

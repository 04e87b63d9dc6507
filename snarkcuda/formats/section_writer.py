"""The writing side of `sections`: a file as a stream of chunks, so that no key is copied whole."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from snarkcuda.field.arrays import U64Array
from snarkcuda.formats.opening import U8Array

Chunk = bytes | U8Array


def words(array: U64Array) -> U8Array:
    """The bytes of uint64 words, little-endian; a view where host and layout allow."""
    return np.ascontiguousarray(array, dtype="<u8").reshape(-1).view(np.uint8)


def records(array: NDArray[np.void]) -> U8Array:
    """The bytes of packed structured records; a view where the layout allows."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def write_sections(
    magic: bytes, version: int, sections: Sequence[tuple[int, Sequence[Chunk]]]
) -> Iterator[Chunk]:
    """The chunks of a section file, in order.

    Args:
        magic: the four bytes that name the format.
        version: the format's version.
        sections: (id, chunks of its bytes), written in this order.
    """
    yield magic + struct.pack("<II", version, len(sections))
    for number, chunks in sections:
        yield from write_section(number, chunks)


def write_section(number: int, chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """The chunks of one section with its table entry."""
    yield struct.pack("<IQ", number, sum(len(chunk) for chunk in chunks))
    yield from chunks

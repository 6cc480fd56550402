"""Batches of sentence-pair inputs, made on the training device.

    inputs = pack(rows, "src", at, packer, device)      # <s> hyp </s> src </s> of rows `at`

All rows at once: the pieces, types and cuts that `Packer.pack_ids` makes one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mtgauge.data.codes import LanguagePair
from mtgauge.encode.tokens.pairs import Packer
from mtgauge.errors import InputError
from mtgauge.train.judged.codes import Coded, IntArray


class Inputs(NamedTuple):
    """Padded inputs of a sentence-pair encoder, (n, t) each."""

    ids: Tensor
    mask: Tensor
    types: Tensor
    langs: Tensor


def pack(
    rows: Coded,
    slot: str,
    at: IntArray,
    packer: Packer,
    device: torch.device,
    langs: Mapping[str, int] | None = None,
) -> Inputs:
    """Rows of one slot (`src`, `ref`, `src+ref`) as the packer would join them."""
    parts = ("hyp", *slot.split("+"))
    numbers = np.stack([rows.numbers[part][at] for part in parts])
    if (numbers < 0).any():
        lacking = int(at[(numbers < 0).any(0)][0])
        raise InputError(f"segment {lacking + 1} lacks a text for {'+'.join(parts)}")
    sizes = rows.book.lengths[numbers]
    join = len(packer.between)
    room = packer.max_length - 2 - join * (len(parts) - 1)
    for i in np.flatnonzero(sizes.sum(0) > room):
        sizes[:, i] = packer.fit(sizes[:, i].tolist())
    total = sizes.sum(0) + 2 + join * (len(parts) - 1)
    # fast attention kernels want a multiple of eight
    width = -(-int(total.max(initial=1)) // 8) * 8 if device.type == "cuda" else int(total.max())
    speech = _languages(rows, parts, at, langs)
    moved = torch.from_numpy(np.concatenate([rows.book.start[numbers], sizes, speech]))
    shape = (3, len(parts), len(at), 1)
    start, size, lang = moved.to(device, non_blocking=True).view(shape)
    flat = rows.book.on(device)
    step = torch.arange(width, device=device)
    ids = torch.where(step == 0, packer.begin, packer.pad).expand(len(at), width)
    types = torch.zeros_like(ids)
    spoken = lang[0].expand_as(ids)
    begin = torch.ones_like(start[0])
    for place in range(len(parts)):
        end = begin + size[place]
        inside = (step >= begin) & (step < end)
        found = flat[(start[place] + step - begin).clamp(0, max(len(flat) - 1, 0))]
        ids = torch.where(inside, found.long(), ids)
        closing = (packer.end,) if place == len(parts) - 1 else packer.between
        for k, token in enumerate(closing):
            ids = torch.where(step == end + k, token, ids)
        if place:
            types = torch.where(step >= begin, 1, types)
            spoken = torch.where(step >= begin, lang[place], spoken)
        begin = end + len(closing)
    mask = (step < begin).long()
    return Inputs(ids, mask, types * mask, spoken)


def _languages(
    rows: Coded, parts: Sequence[str], at: IntArray, langs: Mapping[str, int] | None
) -> IntArray:
    """The language number of each part of each row, (parts, n); 0 for encoders without any."""
    if langs is None:
        return np.zeros((len(parts), len(at)), np.int64)
    pairs = [LanguagePair.parse(lp).bases for lp in rows.lps[at].tolist()]
    return np.array([[langs[lp[0 if part == "src" else 1]] for lp in pairs] for part in parts])

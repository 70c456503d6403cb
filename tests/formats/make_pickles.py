#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the files of torch.save in tests/data/formats/torch_save, in its present layout and in that of before 1.6.

    make_pickles.py DATA    DATA is tests/data/formats

marian.before_1_6.bin has the weights of DATA/marian/model.safetensors, as a module's state_dict. views.*.bin have
tensors of all types that share storages, with offsets and strides.
"""
import collections
import json
import os
import sys

import torch


def read_safetensors(path):
    content = open(path, "rb").read()
    begin = 8 + int.from_bytes(content[:8], "little")
    tensors = {}
    for name, entry in json.loads(content[8:begin]).items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "F32"
        first, last = entry["data_offsets"]
        data = torch.frombuffer(bytearray(content[begin + first:begin + last]), dtype=torch.float32)
        tensors[name] = data.reshape(entry["shape"])
    return tensors


def as_state_dict(weights):
    """With what a module's has beside its tensors, and the embeddings under all their names."""
    state = collections.OrderedDict(weights)
    for stack in ("encoder", "decoder"):
        state[f"model.{stack}.embed_tokens.weight"] = weights["model.shared.weight"].detach()
    state._metadata = collections.OrderedDict([("", {"version": 1}), ("model.shared", {"version": 1})])
    return state


def views():
    numbers = torch.arange(24, dtype=torch.float32)
    table = numbers.view(4, 6)
    state = {"whole": table, "transposed": table.t(), "tail": numbers[18:], "column": table[:, 2],
             "corner": table[1:3, 4:6], "double": torch.arange(3, dtype=torch.float64),
             "half": torch.arange(3, dtype=torch.float16), "bfloat16": torch.arange(3, dtype=torch.bfloat16)[1:],
             "scalar": torch.tensor(7.0), "version": 3, "nested": {"tensor": torch.zeros(2)}}
    for name, dtype in (("long", torch.int64), ("int", torch.int32), ("short", torch.int16), ("char", torch.int8),
                        ("byte", torch.uint8), ("bool", torch.bool)):
        state[name] = torch.tensor([0, 1, 1], dtype=dtype)
    return state


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    data = sys.argv[1]
    folder = os.path.join(data, "torch_save")
    os.makedirs(folder, exist_ok=True)
    weights = read_safetensors(os.path.join(data, "marian", "model.safetensors"))

    def save(state, name, archive):
        torch.save(state, os.path.join(folder, name), _use_new_zipfile_serialization=archive)

    save(as_state_dict(weights), "marian.before_1_6.bin", archive=False)
    save(views(), "views.before_1_6.bin", archive=False)
    save(views(), "views.archive.bin", archive=True)


if __name__ == "__main__":
    main()

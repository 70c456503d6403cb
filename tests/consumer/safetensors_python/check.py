#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py MODEL.safetensors MODEL.pt

Reads a safetensors file by the words of the format's description, with numpy alone, and compares it with the parameters
of the exported model.
"""

import json
import os
import struct
import sys

try:
    import numpy
    import torch
except ImportError as error:
    print(f"SKIPPED: {error} (Debian: apt install python3-torch)")
    sys.exit(77)


def read_safetensors(path):
    with open(path, "rb") as file:
        (header_bytes,) = struct.unpack("<Q", file.read(8))
        text = file.read(header_bytes)
        data = file.read()
    assert text[:1] == b"{"
    header = json.loads(text)
    metadata = header.pop("__metadata__", {})
    assert all(isinstance(value, str) for value in metadata.values())
    tensors = {}
    position = 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        assert begin == position, f"{name}: a gap or an overlap"
        position = end
        dtype = {"F32": "<f4", "F16": "<f2", "I64": "<i8"}[entry["dtype"]]
        tensors[name] = numpy.frombuffer(data[begin:end], dtype).reshape(entry["shape"])
    assert position == len(data), "the tensors do not fill the file"
    return tensors


def main():
    tensors = read_safetensors(sys.argv[1])
    expected = dict(torch.jit.load(sys.argv[2]).named_parameters())
    assert tensors.keys() == expected.keys(), tensors.keys() ^ expected.keys()
    for name, value in expected.items():
        assert numpy.array_equal(tensors[name], value.detach().numpy()), name
    print(f"{len(tensors)} tensors are those of {sys.argv[2]}")


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # PyTorch 1.13 of Debian can crash while Python shuts down

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives the norms of a pre-norm model of Marian 1.12 the names of Marian's newer decoder.

    rename_marian_norms.py MODEL.npz COPY.npz

With TRANSFORMER_FLAVOR=experimental, Marian runs its newer implementation of the network, which renames the arrays of
post-norm models alone. marian-decoder's other implementation does not compute pre-norm decoders as they were trained.
"""
import re
import sys

import numpy

LAYERS = {"encoder": "TransformerEncoderLayer", "decoder": "TransformerDecoderLayerWithCrossAttention"}
BLOCKS = {("encoder", "self_Wo"): "selfAttentionBlock", ("decoder", "self_Wo"): "autoRegressiveBlock",
          ("decoder", "context_Wo"): "crossAttentionBlock",
          ("encoder", "ffn_ffn"): "filterBlock", ("decoder", "ffn_ffn"): "filterBlock"}


def new_name(name):
    """The name in the newer implementation; None for what is no norm."""
    kind = {"scale": "weight", "bias": "bias"}
    if found := re.fullmatch(r"(encoder|decoder)_l(\d+)_(\w+)_ln_(scale|bias)_pre", name):
        side, number, block, part = found.groups()
        return (f"TransformerBatch{side.title()}->{side}->layers->at({int(number) - 1})"
                f"->as<marian::nn::{LAYERS[side]}>()->{BLOCKS[side, block]}->preprocessor->norm->{kind[part]}")
    if found := re.fullmatch(r"(encoder|decoder)_top_ln_(scale|bias)", name):
        side, part = found.groups()
        return f"TransformerBatch{side.title()}->{side}->postprocessor->norm->{kind[part]}"
    return None


def main():
    arrays = numpy.load(sys.argv[1])
    renamed = {}
    for name in arrays.files:
        new = new_name(name)
        renamed[new or name] = arrays[name].reshape(-1) if new else arrays[name]
    numpy.savez(sys.argv[2], **renamed)


if __name__ == "__main__":
    main()

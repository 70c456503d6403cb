#pragma once

#include <torch/types.h>

namespace transmute {

/// Sum over the tokens that are not padding of the cross-entropy between the model's distribution and the
/// smoothed target: 1 - smoothing for the right piece plus smoothing / V for every piece, the right one
/// included (Szegedy et al., 2016; section 5.4). In nats.
///
/// logits: [N,V], targets: int64 [N]; result: a scalar. Smoothing 0 gives the negative log-likelihood.
torch::Tensor smoothed_cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets,
                                     double smoothing, int64_t padding_id);

}  // namespace transmute

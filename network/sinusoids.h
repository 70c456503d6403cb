// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/network/options.h>

#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The position vectors of section 3.5, PE(pos,2i) = sin(pos/10000^(2i/d_model)), PE(pos,2i+1) = cos(the same), laid
/// out according to `sinusoids`, [length,D], row by row. They are computed in double, and a position's row is the same
/// bit for bit wherever the rows begin.
std::vector<float> sinusoids_at(int64_t first, int64_t length, int64_t d_model, const Sinusoids& sinusoids = {});

/// Rows of a table of sinusoids: max_positions, but no more than most texts need. The others are computed when they are
/// used.
int64_t sinusoid_rows(const TransformerOptions& options);

}  // namespace v0
}  // namespace transmute

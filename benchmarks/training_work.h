// SPDX-License-Identifier: Apache-2.0
#pragma once

// The trainings of benchmark_train, and the numbers of operations that they take.

#include <transmute/benchmarks/conditions.h>
#include <transmute/training/data/batcher.h>

#include <cstdint>
#include <vector>

namespace transmute::benchmarks {

/// Pairs with the lengths of Multi30k's captions (13.6 ± 4 tokens on either side, related), tokens drawn by Zipf's law;
/// or, where `length` is positive, all of that length.
ParallelText synthetic_text(int64_t pairs, int64_t vocab_size, int64_t length);

/// x [rows,in] · Wᵀ [out,in].
struct Product {
  int64_t rows, in, out;
};

/// The products with weights that one micro-batch takes, padding included. Those of attention itself are left out.
std::vector<Product> products_of(const Shape& shape, int64_t source_rows, int64_t target_rows);

/// Floating-point operations of products with both of their gradients, two for each multiply-add.
double operations_of(const std::vector<Product>& products);

/// The same of attention's own products, queries by keys and weights by values, for a micro-batch of S source and T
/// target positions in each of its sentences.
double attention_operations_of(const Shape& shape, const Batch& micro_batch);

}  // namespace transmute::benchmarks

// SPDX-License-Identifier: Apache-2.0
#include <transmute/benchmarks/training_work.h>

#include <transmute/common/random.h>
#include <transmute/libtorch/libtorch.h>

#include <algorithm>
#include <cmath>

namespace transmute::benchmarks {

ParallelText synthetic_text(int64_t pairs, int64_t vocab_size, int64_t length) {
  uint64_t drawn = 0;
  const auto draw = [&] { return uniform(mix_bits(++drawn)); };
  const auto normal = [&] { return std::sqrt(-2 * std::log(draw() + 1e-300)) * std::cos(6.283185307 * draw()); };
  const auto sentence = [&](int64_t tokens) {
    Ids ids;
    for (int64_t i = 0; i < tokens; ++i) {
      const double rank = std::exp(draw() * std::log(static_cast<double>(vocab_size - 4)));
      ids.push_back(static_cast<int32_t>(std::min<double>(rank + 3, static_cast<double>(vocab_size - 1))));
    }
    return ids;
  };
  ParallelText text;
  for (int64_t i = 0; i < pairs; ++i) {
    const double target = 13.6 + 4 * normal();
    const double source = target + 2 * normal();
    const auto clipped = [&](double tokens) {
      return length > 0 ? length - 1 : static_cast<int64_t>(std::clamp(tokens, 4.0, 40.0));
    };
    text.source.add(sentence(clipped(source)));
    text.target.add(sentence(clipped(target)));
  }
  return text;
}

std::vector<Product> products_of(const Shape& s, int64_t source_rows, int64_t target_rows) {
  const int64_t d = s.d_model;
  std::vector<Product> products;
  for (int64_t layer = 0; layer < s.layers; ++layer) {
    for (const int64_t rows : {source_rows, target_rows}) {
      products.push_back({rows, d, 3 * d});
      products.push_back({rows, d, d});
      products.push_back({rows, d, s.d_ff});
      products.push_back({rows, s.d_ff, d});
    }
    products.push_back({target_rows, d, d});
    products.push_back({source_rows, d, 2 * d});
    products.push_back({target_rows, d, d});
  }
  products.push_back({target_rows, d, s.vocab_size});
  return products;
}

double operations_of(const std::vector<Product>& products) {
  double operations = 0;
  for (const auto& p : products)
    operations += 6.0 * static_cast<double>(p.rows) * static_cast<double>(p.in) * static_cast<double>(p.out);
  return operations;
}

double attention_operations_of(const Shape& shape, const Batch& micro_batch) {
  const auto sentences = static_cast<double>(micro_batch.source.size(0));
  const auto source = static_cast<double>(micro_batch.source.size(1)),
             target = static_cast<double>(micro_batch.target_in.size(1));
  const double pairs = source * source + target * target + target * source;
  return 2 * 6.0 * static_cast<double>(shape.layers * shape.d_model) * sentences * pairs;
}

}  // namespace transmute::benchmarks

// SPDX-License-Identifier: Apache-2.0
// Networks with DecoderSelfAttention::ssru in the CPU engine, compared with double-precision loops.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/engine/inference_model.h>
#include <transmute/kernels/simd/simd.h>
#include <transmute/network/weight_names.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/random_weights.h>
#include <transmute/tests/support/reference.h>
#include <transmute/tokenizer/special_ids.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using kernels::Simd;
using ::testing::HasSubstr;

constexpr int64_t kVocabulary = 30;
// Sums of some 100 products in float32.
constexpr double kTolerance = 2e-4;

TransformerOptions ssru_options(NormPosition norm) {
  TransformerOptions options;
  options.source_vocab_size = options.target_vocab_size = kVocabulary;
  options.num_encoder_layers = 1;
  options.num_decoder_layers = 2;
  options.d_model = 20;
  options.num_heads = 2;
  options.d_ff = 24;
  options.norm_position = norm;
  options.decoder_self_attention = DecoderSelfAttention::ssru;
  return validated(options);
}

// Neither biases nor norms are left at 0 and 1.
Weights weights_with_biases(const TransformerOptions& options) {
  Weights weights = testing::random_weights(options, 5);
  for (auto& [name, array] : weights.arrays())
    for (int64_t i = 0; array.dimensions() == 1 && i < array.count(); ++i)
      array.floats()[i] += 0.4F * static_cast<float>(std::sin(3 * i + static_cast<int64_t>(name.size())));
  return weights;
}

reference::Weights reference_of(const Weights& weights) {
  reference::Weights result;
  for (const auto& [name, array] : weights.arrays()) {
    const bool is_vector = array.dimensions() == 1;
    reference::Matrix matrix(is_vector ? 1 : array.size(0), is_vector ? array.size(0) : array.size(1));
    for (int64_t i = 0; i < array.count(); ++i) matrix.values[static_cast<size_t>(i)] = array.floats()[i];
    result.emplace(name, std::move(matrix));
  }
  return result;
}

struct Decoded {
  Ids source, target;  // with end and begin
};

void expect_last_logits(const float* found, const TransformerOptions& options, const reference::Weights& weights,
                        const Decoded& decoded, const std::string& what) {
  const reference::Matrix wanted = reference::transformer(options, weights, decoded.source, decoded.target);
  for (int64_t v = 0; v < kVocabulary; ++v)
    ASSERT_NEAR(found[v], wanted(wanted.rows - 1, v), kTolerance) << what << ", token " << v;
}

const std::vector<Ids> kSources{{7, 12, 25, 4}, {}, {9, 9, 28}};

// Hypotheses double, change places and end, as a beam search leads them.
TEST(SsruInference, ComputesThePaperForEachHypothesisOfABeam) {
  for (const NormPosition norm : {NormPosition::post, NormPosition::pre, NormPosition::deep}) {
    const TransformerOptions options = ssru_options(norm);
    const Weights weights = weights_with_biases(options);
    const reference::Weights wanted = reference_of(weights);
    for (const Simd simd : {Simd::baseline, kernels::best_simd()}) {
      const kernels::SimdLimit limit(simd);
      const InferenceModel model(weights, Precision::float32);
      const auto batch = model.start(kSources, {}, {});
      std::vector<Decoded> rows;
      for (const Ids& source : kSources) {
        rows.push_back({source, {}});
        rows.back().source.push_back(special_ids::kEnd);
      }
      size_t sentences = kSources.size();
      for (int64_t step = 0; step < 7; ++step) {
        Ids ids;
        for (size_t r = 0; r < rows.size(); ++r) {
          const auto random = static_cast<int64_t>(r) * 5 + step * 3;
          ids.push_back(step == 0 ? special_ids::kBegin
                                  : special_ids::kCount + random % (kVocabulary - special_ids::kCount));
          rows[r].target.push_back(ids.back());
        }
        const NextToken next = batch->step(ids, 1);
        for (size_t r = 0; r < rows.size(); ++r)
          expect_last_logits(next.logits(static_cast<int64_t>(r)), options, wanted, rows[r],
                             "step " + std::to_string(step) + ", row " + std::to_string(r));
        std::vector<int64_t> staying, parents;
        std::vector<Decoded> children;
        const size_t beam = rows.size() / sentences;
        for (size_t s = 0; s < sentences; ++s) {
          if (step == 3 && s == 1) continue;
          staying.push_back(static_cast<int64_t>(s));
          for (size_t n = 0; n < 3; ++n) {
            parents.push_back(static_cast<int64_t>(s * beam + (beam - 1 - n % beam)));
            children.push_back(rows[static_cast<size_t>(parents.back())]);
          }
        }
        batch->select(staying, parents);
        sentences = staying.size();
        rows = children;
      }
    }
  }
}

TEST(SsruInference, ReadsKnownTokensAtOnceAsOneByOne) {
  const TransformerOptions options = ssru_options(NormPosition::post);
  const Weights weights = weights_with_biases(options);
  const InferenceModel model(weights, Precision::float32);
  const auto at_once = model.start(kSources, {}, {}), one_by_one = model.start(kSources, {}, {});
  const Ids known{special_ids::kBegin, 8, 21, 13};
  const auto length = static_cast<int64_t>(known.size()), batch = static_cast<int64_t>(kSources.size());
  Ids ids;
  for (int64_t b = 0; b < batch; ++b) ids.insert(ids.end(), known.begin(), known.end());
  const NextToken all = at_once->step(ids, length);
  for (int64_t t = 0; t < length; ++t) {
    const NextToken next = one_by_one->step(Ids(kSources.size(), known[static_cast<size_t>(t)]), 1);
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t v = 0; v < kVocabulary; ++v) ASSERT_EQ(all.logits(b * length + t)[v], next.logits(b)[v]);
  }
  const Ids more(kSources.size(), 17);
  const NextToken after = at_once->step(more, 1);
  const NextToken expected = one_by_one->step(more, 1);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t v = 0; v < kVocabulary; ++v) ASSERT_EQ(after.logits(b)[v], expected.logits(b)[v]);
}

TEST(SsruInference, DoesNotDependOnOtherSentences) {
  const TransformerOptions options = ssru_options(NormPosition::post);
  for (const Precision precision : {Precision::float32, Precision::bfloat16, Precision::int8}) {
    const InferenceModel model(weights_with_biases(options), precision);
    const auto together = model.start(kSources, {}, {}), alone = model.start({kSources[2]}, {}, {});
    for (const int64_t id : {special_ids::kBegin, int64_t{11}, int64_t{6}, int64_t{19}}) {
      const NextToken next = together->step(Ids(kSources.size(), id), 1);
      const NextToken expected = alone->step({id}, 1);
      for (int64_t v = 0; v < kVocabulary; ++v) ASSERT_EQ(next.logits(2)[v], expected.logits(0)[v]);
    }
  }
}

TEST(SsruOptions, CountTheirParametersAndAreForTranslation) {
  const TransformerOptions options = ssru_options(NormPosition::pre);
  int64_t parameters = 0;
  for (const ParameterShape& parameter : parameter_shapes(options)) {
    int64_t count = 1;
    for (const int64_t size : parameter.shape) count *= size;
    parameters += count;
  }
  EXPECT_EQ(parameter_count(options), parameters);
  const std::vector<std::string> matrices = WeightNames(options).product_matrices();
  for (const char* name : {"decoder.layers.0.ssru.input.weight", "decoder.layers.1.ssru.forget.weight"})
    EXPECT_THAT(matrices, ::testing::Contains(name));
  TransformerOptions language_model = options;
  language_model.architecture = Architecture::decoder_only;
  EXPECT_THAT(testing::message_of<std::invalid_argument>([&] { validated(language_model); }),
              HasSubstr("model.decoder_self_attention"));
}

}  // namespace
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/transformer.h>
#include <transmute/tests/support/tensors.h>

#include <string>
#include <vector>

namespace transmute {
namespace {

using testing::expect_near;
using testing::kDoubleTolerance;
using testing::random_transformer;

// Without dropout: what differs in which code runs.
std::vector<TransformerOptions> two_shapes(int64_t d_model, int64_t pieces) {
  TransformerOptions post;
  post.source_vocab_size = post.target_vocab_size = pieces;
  post.d_model = d_model;
  post.num_heads = 2;
  post.d_ff = d_model + 2;
  post.num_encoder_layers = post.num_decoder_layers = 1;
  post.max_positions = 16;
  post.dropout = 0;
  TransformerOptions pre = post;
  pre.norm_position = NormPosition::pre;
  pre.positional_encoding = PositionalEncodingKind::learned;
  pre.embedding_tying = EmbeddingTying::none;
  return {post, pre};
}

// The smoothed cross-entropies and the divergences of two passes' logits, [B,T,V] each, by their definitions.
torch::Tensor consistent_loss(const torch::Tensor& first, const torch::Tensor& second, const torch::Tensor& target_out,
                              const ConsistencyOptions& consistency) {
  const torch::Tensor log_p = first.log_softmax(-1), log_q = second.log_softmax(-1);
  const torch::Tensor counts = target_out.ne(0);
  const auto cross_entropy = [&](const torch::Tensor& log_probabilities) {
    const torch::Tensor right = log_probabilities.gather(2, target_out.unsqueeze(2)).squeeze(2);
    return -((0.9 * right + 0.1 * log_probabilities.mean(2)) * counts).sum();
  };
  const auto divergence = [&](const torch::Tensor& from, const torch::Tensor& to) {
    return ((from.exp() * (from - to)).sum(2) * counts).sum();
  };
  if (consistency.kind == Consistency::r_drop)
    return cross_entropy(log_p) + cross_entropy(log_q) +
           consistency.weight / 2 * (divergence(log_p, log_q) + divergence(log_q, log_p));
  return cross_entropy(log_p) + consistency.weight * divergence(log_p, log_q);
}

// A piece that occurs nowhere and whose vector is 0 takes the place of what is cut.
TEST(ConsistentTransformer, CutsTokensOfASecondPassForSimCut) {
  const torch::Tensor source = testing::ids_tensor({{4, 2, 7, 5, 1}, {3, 5, 6, 0, 0}});
  const torch::Tensor target_in = testing::ids_tensor({{1, 5, 4, 8}, {1, 3, 0, 0}});
  const torch::Tensor target_out = testing::ids_tensor({{5, 4, 8, 2}, {3, 2, 0, 0}});
  const ConsistencyOptions simcut{Consistency::simcut, 3, 0.4};
  constexpr int64_t kUnused = 11;
  for (const auto& options : two_shapes(8, 13)) {
    Transformer model = random_transformer(options, torch::kDouble);
    model->train();
    for (auto& parameter : model->named_parameters())
      if (parameter.key().find("embedding.weight") != std::string::npos) {
        const torch::NoGradGuard no_grad;
        parameter.value()[kUnused].zero_();
      }
    const auto cut = [&](const torch::Tensor& ids) {
      const torch::Tensor kept = kernels::dropout(torch::ones(ids.sizes()), simcut.cut_probability);
      return ids.masked_fill(kept.eq(0).logical_and(ids.ne(0)), kUnused);
    };
    torch::Tensor cut_source, cut_target;
    {
      const kernels::DropoutScope scope(5);
      cut_source = cut(source);
      cut_target = cut(target_in);
    }
    ASSERT_FALSE(torch::equal(cut_source, source));
    ASSERT_FALSE(torch::equal(cut_target, target_in));
    const torch::Tensor expected =
        consistent_loss(model->forward(source, target_in), model->forward(cut_source, cut_target), target_out, simcut);
    const kernels::DropoutScope scope(5);
    const TrainingLoss loss = model->loss(source, target_in, target_out, {0.1, 1, Activations::kept, simcut});
    expect_near(loss.token_loss, expected, 100 * kDoubleTolerance);
    expect_near(loss.cross_entropy, model->loss(source, target_in, target_out, {0.1, 1}).token_loss,
                100 * kDoubleTolerance);
    expect_near(loss.divergence * 3 + loss.cross_entropy, expected, 100 * kDoubleTolerance);
  }
}

TEST(ConsistentTransformer, DrawsTwoMasksForRDrop) {
  const torch::Tensor source = testing::ids_tensor({{4, 2, 7, 5, 1}, {3, 5, 6, 0, 0}});
  const torch::Tensor target_in = testing::ids_tensor({{1, 5, 4, 8}, {1, 3, 0, 0}});
  const torch::Tensor target_out = testing::ids_tensor({{5, 4, 8, 2}, {3, 2, 0, 0}});
  const ConsistencyOptions r_drop{Consistency::r_drop, 5, 0};
  const auto twice = [](const torch::Tensor& ids) { return torch::cat({ids, ids}); };
  for (auto& options : two_shapes(8, 13)) {
    options.dropout = options.attention_dropout = options.activation_dropout = 0.2;
    Transformer model = random_transformer(options, torch::kDouble);
    model->train();
    const auto loss_of = [&] {
      const kernels::DropoutScope scope(5);
      return model->loss(source, target_in, target_out, {0.1, 1, Activations::kept, r_drop});
    };
    const kernels::DropoutScope scope(5);
    const torch::Tensor logits = model->forward(twice(source), twice(target_in));
    const TrainingLoss loss = loss_of();
    expect_near(loss.token_loss, consistent_loss(logits.narrow(0, 0, 2), logits.narrow(0, 2, 2), target_out, r_drop),
                100 * kDoubleTolerance);
    EXPECT_GT(loss.divergence.item<double>(), 0.01);
    expect_near(loss.divergence * 5 + loss.cross_entropy * 2, loss.token_loss, 100 * kDoubleTolerance);
  }
}

TEST(ConsistentTransformer, PropagatesGradientsThroughBothPasses) {
  const torch::Tensor source = testing::ids_tensor({{4, 2, 1}, {3, 5, 0}});
  const torch::Tensor target_in = testing::ids_tensor({{1, 5}, {1, 3}});
  const torch::Tensor target_out = testing::ids_tensor({{5, 4}, {3, 0}});
  for (const ConsistencyOptions& consistency :
       {ConsistencyOptions{Consistency::r_drop, 5, 0}, ConsistencyOptions{Consistency::simcut, 3, 0.4}}) {
    TransformerOptions options = two_shapes(4, 6).front();
    options.dropout = 0.2;
    Transformer model = random_transformer(options, torch::kDouble);
    model->train();
    testing::expect_gradients_match(
        [&, m = model]() mutable {
          const kernels::DropoutScope scope(3);
          return m->loss(source, target_in, target_out, {0.1, 1, Activations::kept, consistency}).token_loss;
        },
        testing::leaves_of(*model));
  }
}

TEST(ConsistentTransformer, HasOnePassOutsideTrainingAndRefusesGuidanceOfTwo) {
  Transformer model = random_transformer(two_shapes(8, 13).front(), torch::kFloat);
  const torch::Tensor ids = testing::ids_tensor({{1, 2}});
  const LossOptions options{0.1, 1, Activations::kept, {Consistency::r_drop, 5, 0}};
  model->eval();
  EXPECT_FALSE(model->loss(ids, ids, ids, options).divergence.defined());
  model->train();
  const GuidedAttention guided{torch::zeros({1, 2, 2}), 0, 0};
  EXPECT_THROW(model->loss(ids, ids, ids, options, &guided), c10::ValueError);
}

TEST(ConsistentTransformer, RefusesAWeightThatIsNotPositive) {
  Transformer model = random_transformer(two_shapes(8, 13).front(), torch::kFloat);
  model->train();
  const torch::Tensor ids = testing::ids_tensor({{1, 2}});
  for (const Consistency kind : {Consistency::r_drop, Consistency::simcut})
    EXPECT_THROW(model->loss(ids, ids, ids, {0.1, 1, Activations::kept, {kind, 0, 0.1}}), c10::ValueError);
}

}  // namespace
}  // namespace transmute

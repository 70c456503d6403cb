// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/outgoing_model.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/network/sinusoids.h>
#include <transmute/network/weight_names.h>
#include <transmute/tokenizer/piece_marks.h>
#include <transmute/tokenizer/piece_table.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

// The value of a setting as the configuration spells it.
std::string value_of(const TransformerOptions& options, const std::string& key) {
  ModelConfig config;
  config.model = options;
  ConfigSchema schema;
  config.declare(schema);
  for (const auto& [name, value] : schema.values())
    if (name == key) return value;
  throw std::logic_error(key + " is no key of the configuration");
}

}  // namespace

void require_expressible(const LoadedModel& model, const std::string& program,
                         std::initializer_list<Expressible> settings) {
  const TransformerOptions& o = model.options;
  std::vector<Expressible> all{{"architecture", o.architecture == Architecture::encoder_decoder},
                               {"score_function", o.score_function == ScoreFunction::scaled_dot_product},
                               {"d_k", o.d_k * o.num_heads == o.d_model},
                               {"d_v", o.d_v * o.num_heads == o.d_model}};
  all.insert(all.end(), settings);
  for (const auto& [name, holds] : all) {
    const std::string key = fmt::format("model.{}", name);
    if (!holds)
      throw std::invalid_argument(
          fmt::format("{} cannot run this model: it has {}: {}, for which the format has no counterpart", program, key,
                      value_of(o, key)));
  }
  if (model.tokenizer.source().truecases() || model.tokenizer.target().truecases())
    throw std::invalid_argument(
        fmt::format("{0} cannot run this model: its vocabulary truecases (tokenizer.normalization: nmt_nfkc_tc), which "
                    "{0} does not do",
                    program));
}

LoadedModel without_residual_scales(const LoadedModel& model) {
  if (model.options.norm_position != NormPosition::deep) return model;
  std::map<std::string, double> divisors;  // of the branches' last layers
  const WeightNames names(model.options);
  const auto divide = [&](const LinearNames& linear, double divisor) {
    divisors[linear.weight] = divisor;
    if (!linear.bias.empty()) divisors[linear.bias] = divisor;
  };
  for (const Stack stack : {Stack::encoder, Stack::decoder}) {
    const double scale = residual_scale(model.options, stack);
    for (const LayerNames& layer : (stack == Stack::encoder ? names.encoder : names.decoder).layers) {
      divide(layer.self_attention.output, scale);
      if (stack == Stack::decoder) divide(layer.cross_attention.output, scale);
      divide(layer.feed_forward.outer, scale);
    }
  }
  LoadedModel post = model;
  post.options.norm_position = NormPosition::post;
  NamedArrays arrays;
  for (const auto& [name, shape] : parameter_shapes(model.options)) {
    Array array = model.weights.float32(name);
    if (const auto found = divisors.find(name); found != divisors.end()) {
      array = array.copy();
      for (int64_t i = 0; i < array.count(); ++i)
        array.floats()[i] = static_cast<float>(array.floats()[i] / found->second);
    }
    arrays.emplace_back(name, std::move(array));
  }
  post.weights = Weights(post.options, arrays, "the model");
  return post;
}

std::vector<std::string> pieces_by_id(const SubwordModel& subwords) {
  std::vector<std::string> pieces(kReservedPieces.begin(), kReservedPieces.end());
  std::set<std::string> known(pieces.begin(), pieces.end());
  const bool has_words = has_whole_words(subwords.serialized());
  for (int64_t id = special_ids::kCount; id < subwords.size(); ++id) {
    std::string piece = subwords.piece(id);
    if (has_words && begins_word(piece)) piece.erase(0, kSpaceMark.size());
    pieces.push_back(std::move(piece));
    if (!known.insert(pieces.back()).second)
      throw std::invalid_argument(
          fmt::format("its vocabulary has the piece \"{}\" twice, once under the id {}, which "
                      "other programs do not allow",
                      pieces.back(), id));
  }
  return pieces;
}

bool has_one_vocabulary(const Tokenizer& tokenizer) {
  return tokenizer.shared() || pieces_by_id(tokenizer.source()) == pieces_by_id(tokenizer.target());
}

void require_sentencepiece(const SubwordModel& subwords, const std::string& program) {
  if (has_whole_words(subwords.serialized()))
    throw std::invalid_argument(
        program +
        " cannot run this model: its vocabulary is a list of words between spaces, without a SentencePiece model");
}

void write_json(const std::string& folder, const std::string& name, const Json& json) {
  write_file_atomically(path_in(folder, name), json.dump(2) + "\n");
}

void write_sentencepiece_models(const Tokenizer& tokenizer, const std::string& folder) {
  for (const auto& [name, model] : {std::pair{"source.spm", &tokenizer.source()}, {"target.spm", &tokenizer.target()}})
    if (!has_whole_words(model->serialized())) write_file_atomically(path_in(folder, name), model->serialized());
}

Array position_table(const LoadedModel& model, Stack stack) {
  const TransformerOptions& o = model.options;
  const WeightNames names(o);
  if (o.positional_encoding == PositionalEncodingKind::learned)
    return model.weights.float32(stack == Stack::encoder ? names.source_positions : names.target_positions);
  constexpr int64_t kFewestRows = 1024;
  const int64_t rows = std::max(o.max_positions, kFewestRows);
  return Array::of({rows, o.d_model}, sinusoids_at(0, rows, o.d_model, o.sinusoids));
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/text_encoder.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/device/transformer_step_model.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/search/batches.h>
#include <transmute/text/source_parts.h>
#include <transmute/text/split_ids.h>

#include <algorithm>

namespace transmute {
inline namespace v0 {

namespace {

// A text, or a part of one.
struct TextPart {
  size_t text;
  Ids ids;          // first the language's
  size_t given{0};  // of those
};

void check(const TextEncoderOptions& options) {
  check_at_least_one(options.batch_size, "batch_size");
  check_at_least_one(options.batch_tokens, "batch_tokens");
  check_at_least_one(options.max_source_tokens, "max_source_tokens");
}

}  // namespace

TextEncoder::TextEncoder(LoadedModel model, torch::Device device, ParallelFor parallel_for)
    : model_(std::move(model)),
      device_(device),
      parallel_for_(std::move(parallel_for)),
      d_model_(model_.transformer->options.d_model) {}

std::vector<TextVectors> TextEncoder::encode(const std::vector<std::string>& texts,
                                             const TextEncoderOptions& options) const {
  check(options);
  const SubwordModel& tokenizer = model_.tokenizer.source();
  const Ids language = encoder_language({options.source_language, options.target_language}, model_.tokenizer);
  const int64_t room = most_tokens(model_.transformer->options) - most_language_tokens(tokenizer);
  const int64_t most = std::max<int64_t>(1, std::min(options.max_source_tokens, room));
  std::vector<TextVectors> results(texts.size());
  std::vector<TextPart> parts;
  for (size_t text = 0; text < texts.size(); ++text) {
    check_utf8(texts[text], "text", text + 1);
    const SourcePart whole = whole_source(tokenizer, texts[text], text);
    if (whole.ids.empty()) continue;
    results[text].tokens = source_pieces(tokenizer, texts[text]);
    std::vector<Ids> split = split_ids(whole.ids, results[text].tokens, most);
    results[text].parts = static_cast<int>(split.size());
    const Ids& before = whole.tag.empty() ? language : whole.tag;
    for (auto& part : split) {
      part.insert(part.begin(), before.begin(), before.end());
      parts.push_back({text, std::move(part), before.size()});
    }
  }

  std::vector<size_t> lengths;
  for (const TextPart& part : parts) lengths.push_back(part.ids.size());
  const std::vector<std::vector<size_t>> batches = batches_by_length(lengths, options.batch_size, options.batch_tokens);
  std::vector<torch::Tensor> vectors(parts.size()), sums(parts.size());
  parallel_for_(batches.size(), [&](size_t b) {
    const torch::NoGradGuard no_grad;
    Transformer transformer = model_.transformer;
    std::vector<Ids> sources;
    for (const size_t part : batches[b]) sources.push_back(parts[part].ids);
    const torch::Tensor memory =
        transformer->encode(padded_sources(sources).to(device_)).memory.to(torch::kCPU, torch::kFloat);  // [B,S,D]
    for (size_t row = 0; row < batches[b].size(); ++row) {
      const size_t part = batches[b][row];
      const auto given = static_cast<int64_t>(parts[part].given), end = static_cast<int64_t>(parts[part].ids.size());
      const torch::Tensor own = memory[static_cast<int64_t>(row)].slice(0, given, end).clone();  // [L,D]
      sums[part] = own.sum(0);
      if (options.token_vectors) vectors[part] = own;
    }
  });

  std::vector<std::vector<torch::Tensor>> of_text(texts.size());
  for (size_t part = 0; part < parts.size(); ++part) {
    TextVectors& result = results[parts[part].text];
    result.mean = result.mean.defined() ? result.mean + sums[part] : sums[part];
    if (options.token_vectors) of_text[parts[part].text].push_back(std::move(vectors[part]));
  }
  for (size_t text = 0; text < texts.size(); ++text) {
    TextVectors& result = results[text];
    result.mean = result.tokens.empty() ? torch::zeros({d_model_}, torch::kFloat)
                                        : result.mean / static_cast<int64_t>(result.tokens.size());
    if (!options.token_vectors) continue;
    result.vectors = of_text[text].empty() ? torch::zeros({0, d_model_}, torch::kFloat) : torch::cat(of_text[text]);
    of_text[text].clear();
  }
  return results;
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/text_encoder.h>

#include <transmute/common/memory.h>
#include <transmute/common/text_file.h>
#include <transmute/common/threads.h>
#include <transmute/engine/device_backend.h>
#include <transmute/engine/step_models.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/search/batches.h>
#include <transmute/text/source_parts.h>
#include <transmute/text/split_ids.h>
#include <transmute/translation/call_hooks.h>
#include <transmute/translation/open_models.h>

#include <algorithm>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

void check(const TextEncoderOptions& options) {
  check_at_least_one(options.batch_size, "batch_size");
  check_at_least_one(options.batch_tokens, "batch_tokens");
  check_at_least_one(options.max_source_tokens, "max_source_tokens");
}

// vectors: [L,D]; result: [D].
std::vector<float> sum_of(const std::vector<float>& vectors, size_t width) {
  std::vector<double> sums(width);
  for (size_t i = 0; i < vectors.size(); ++i) sums[i % width] += vectors[i];
  return {sums.begin(), sums.end()};
}

}  // namespace

struct TextEncoder::State {
  State(const std::string& path, const TranslatorOptions& options)
      : device(find_device(options.device)),
        threads(worker_count(options.threads, device)),
        model(load_model(path, Architecture::encoder_decoder, threads.parallel_for(), memory_of(options))),
        network(make_network_model(std::exchange(model.weights, {}), device,
                                   options.precision.value_or(Precision::float32), threads.parallel_for(),
                                   WeightUse::taken)) {
    return_freed_memory();
  }

  Device device;
  mutable ThreadPool threads;
  LoadedModel model;  // without its weights
  std::shared_ptr<const NetworkModel> network;
};

TextEncoder::TextEncoder(const std::string& model, const TranslatorOptions& options)
    : state_(std::make_unique<const State>(model, options)) {}

TextEncoder::~TextEncoder() = default;
TextEncoder::TextEncoder(TextEncoder&&) noexcept = default;
TextEncoder& TextEncoder::operator=(TextEncoder&&) noexcept = default;

int64_t TextEncoder::d_model() const {
  return state_->model.options.d_model;
}

std::vector<TextVectors> TextEncoder::encode(const std::vector<std::string>& texts, const TextEncoderOptions& options,
                                             const TranslationHooks& hooks) const {
  check(options);
  const Tokenizer& both = state_->model.tokenizer;
  const SubwordModel& tokenizer = both.source();
  const Ids language = encoder_language({options.source_language, options.target_language}, both);
  const int64_t room = most_tokens(state_->model.options) - most_language_tokens(tokenizer);
  const int64_t most = std::max<int64_t>(1, std::min(options.max_source_tokens, room));
  std::vector<TextVectors> results(texts.size());
  std::vector<SourcePart> parts;
  CallHooks call_hooks(hooks, {});
  for (size_t text = 0; text < texts.size(); ++text) {
    call_hooks.check();
    check_utf8(texts[text], "text", text + 1);
    check_tag(tokenizer, texts[text], text);
    SegmentedSource source = segment_source(tokenizer, texts[text]);
    if (source.tokens.ids.empty()) continue;
    std::vector<Ids> split = split_ids(source.tokens.ids, source.tokens.pieces, most);
    results[text].tokens = std::move(source.tokens.pieces);
    results[text].parts = static_cast<int>(split.size());
    for (Ids& ids : split) {
      SourcePart& part = parts.emplace_back(SourcePart{text, "", std::move(ids)});
      part.tag = source.tag;
      add_languages(part, {language, {}});
    }
  }

  std::vector<size_t> lengths;
  for (const SourcePart& part : parts) lengths.push_back(part.ids.size());
  const std::vector<std::vector<size_t>> batches = batches_by_length(lengths, options.batch_size, options.batch_tokens);
  const auto width = static_cast<size_t>(d_model());
  std::vector<std::vector<float>> vectors(parts.size());  // of the parts' tokens, [L,D]
  state_->threads.for_each(batches.size(), [&](size_t b) {
    call_hooks.check();
    std::vector<Ids> sources;
    for (const size_t part : batches[b]) sources.push_back(parts[part].ids);
    const std::vector<std::vector<float>> states = state_->network->encode(sources);
    for (size_t row = 0; row < batches[b].size(); ++row) {
      const SourcePart& part = parts[batches[b][row]];
      std::vector<float>& own = vectors[batches[b][row]];
      own.assign(&states[row][part.forced.source * width], states[row].data() + part.ids.size() * width);
      if (!options.token_vectors) own = sum_of(own, width);
    }
  });

  for (TextVectors& result : results) result.mean.assign(width, 0);
  for (size_t part = 0; part < parts.size(); ++part) {
    TextVectors& result = results[parts[part].text];
    const std::vector<float> sum = sum_of(vectors[part], width);
    for (size_t i = 0; i < width; ++i) result.mean[i] += sum[i] / static_cast<float>(result.tokens.size());
    if (options.token_vectors) result.vectors.insert(result.vectors.end(), vectors[part].begin(), vectors[part].end());
    vectors[part] = {};
  }
  return results;
}

}  // namespace v0
}  // namespace transmute

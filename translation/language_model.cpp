#include <transmute/translation/language_model.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/memory.h>
#include <transmute/common/text_file.h>
#include <transmute/common/threads.h>
#include <transmute/model/libtorch.h>
#include <transmute/model/threading.h>
#include <transmute/translation/engine.h>
#include <transmute/translation/files/device.h>
#include <transmute/translation/load_ensemble.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

std::vector<Ids> encode_texts(const SubwordModel& tokenizer, const std::vector<std::string>& texts) {
  std::vector<Ids> encoded;
  for (size_t i = 0; i < texts.size(); ++i) {
    check_utf8(texts[i], fmt::format("text {}", i + 1));
    encoded.push_back(tokenizer.encode(texts[i]));
  }
  return encoded;
}

void check_limits(const GenerationOptions& options) {
  check_at_least_one(options.batch_size, "batch_size");
  check_at_least_one(options.batch_tokens, "batch_tokens");
}

// The tokens that a text of the model can have; the end, or what precedes the first token, takes a position too.
int64_t most_tokens(const std::vector<Transformer>& transformers) {
  int64_t most = std::numeric_limits<int64_t>::max();
  for (const Transformer& transformer : transformers)
    if (transformer->options.positional_encoding == PositionalEncodingKind::learned)
      most = std::min(most, transformer->options.max_positions - 1);
  return most;
}

// The prompt itself, and what follows it in the text of all the tokens: decoding would normalise the prompt.
std::string continued(const std::string& prompt, const std::string& decoded_prompt, const std::string& decoded) {
  if (decoded.compare(0, decoded_prompt.size(), decoded_prompt) != 0) return decoded;
  const size_t content = prompt.find_last_not_of(" \t\r\n");
  return prompt.substr(0, content == std::string::npos ? 0 : content + 1) + decoded.substr(decoded_prompt.size());
}

}  // namespace

struct LanguageModel::State {
  State(LoadedEnsemble models, torch::Device device, std::unique_ptr<ThreadPool> pool)
      : threads(std::move(pool)),
        model(
            make_step_model(models.transformers, device, models.precision, threads->parallel_for(), WeightUse::taken)),
        tokenizer(std::move(models.tokenizer)),
        most_tokens(transmute::most_tokens(models.transformers)) {
    models.transformers.clear();
    return_freed_memory();
  }

  void check_length(const Ids& ids, int64_t added) const {
    const auto length = static_cast<int64_t>(ids.size());
    if (length > most_tokens || added > most_tokens - length)
      throw std::invalid_argument(
          fmt::format("a text of {} tokens{} is longer than the {} that the model has learned positions for "
                      "(model.max_positions, one of them for the end)",
                      length, added > 0 ? fmt::format(" and {} more", added) : "", most_tokens));
  }

  std::unique_ptr<ThreadPool> threads;
  ReadyModel model;
  Tokenizer tokenizer;
  int64_t most_tokens;
};

LanguageModel::LanguageModel(const std::string& model, const TranslatorOptions& options) {
  if (!options.shortlist.table.empty())
    throw std::invalid_argument(
        "a language model takes no shortlist: it has no source whose translations one could list");
  const torch::Device device = parse_device(options.device);
  auto threads =
      std::make_unique<ThreadPool>(worker_count(options.threads, device), run_operations_on_this_thread_only);
  state_ = std::make_unique<State>(load_ensemble(model, options.ensemble, device, Architecture::decoder_only,
                                                 options.precision, threads->parallel_for()),
                                   device, std::move(threads));
}

LanguageModel::~LanguageModel() = default;
LanguageModel::LanguageModel(LanguageModel&&) noexcept = default;
LanguageModel& LanguageModel::operator=(LanguageModel&&) noexcept = default;

std::string LanguageModel::slow_reason() const {
  return state_->model.plain_reason;
}

std::string LanguageModel::generate(const std::string& prompt, const GenerationOptions& options) const {
  return generate_batch({prompt}, options).front().hypotheses.front().text;
}

std::vector<Translation> LanguageModel::generate_batch(const std::vector<std::string>& prompts,
                                                       const GenerationOptions& options,
                                                       const TranslationHooks& hooks) const {
  const SubwordModel& tokenizer = state_->tokenizer.target();
  const std::vector<Ids> encoded = encode_texts(tokenizer, prompts);
  for (const Ids& ids : encoded) state_->check_length(ids, options.search.max_extra_length);
  check_limits(options);
  std::vector<size_t> lengths;
  for (const Ids& ids : encoded) lengths.push_back(ids.size());
  const auto batches = batches_by_length(lengths, options.batch_size, options.batch_tokens);

  std::mutex hooks_mutex;
  size_t done = 0;
  const auto text_of = [&](size_t text, const Ids& ids) {
    return continued(prompts[text], tokenizer.decode(encoded[text]), tokenizer.decode(ids));
  };
  const auto search_hooks = [&](const std::vector<size_t>& batch) {
    SearchHooks watch;
    if (hooks.should_stop)
      watch.should_stop = [&] {
        const std::lock_guard<std::mutex> lock(hooks_mutex);
        return hooks.should_stop();
      };
    if (hooks.on_text)
      watch.on_tokens = [&](size_t sentence, const Ids& certain) {
        const size_t text = batch[sentence];
        if (certain.size() <= encoded[text].size()) return;  // still the prompt
        const std::lock_guard<std::mutex> lock(hooks_mutex);
        hooks.on_text(text, text_of(text, certain));
      };
    return watch;
  };

  std::vector<Translation> results(prompts.size());
  state_->threads->for_each(batches.size(), [&](size_t b) {
    const std::vector<size_t>& batch = batches[b];
    std::vector<Ids> sources;
    for (const size_t text : batch) sources.push_back(encoded[text]);
    TargetDemands demands;
    demands.prefixes = sources;
    auto found = beam_search(*state_->model.model, sources, options.search, search_hooks(batch), demands);
    for (size_t i = 0; i < batch.size(); ++i) {
      const size_t text = batch[i];
      for (const int64_t id : encoded[text]) results[text].source_tokens.push_back(tokenizer.piece(id));
      for (IdHypothesis& hypothesis : found[i]) {
        std::string whole = text_of(text, hypothesis.ids);
        results[text].hypotheses.push_back(to_hypothesis(std::move(hypothesis), tokenizer));
        results[text].hypotheses.back().text = std::move(whole);
      }
      const std::lock_guard<std::mutex> lock(hooks_mutex);
      if (hooks.on_text) hooks.on_text(text, results[text].hypotheses.front().text);
      if (hooks.on_progress) hooks.on_progress(++done, prompts.size());
    }
  });
  return results;
}

std::vector<Hypothesis> LanguageModel::score_batch(const std::vector<std::string>& texts,
                                                   const GenerationOptions& options) const {
  const SubwordModel& tokenizer = state_->tokenizer.target();
  const std::vector<Ids> encoded = encode_texts(tokenizer, texts);
  for (const Ids& ids : encoded) state_->check_length(ids, 0);
  check_limits(options);
  auto found = score_targets(*state_->model.model, encoded, encoded, options.search, options.batch_size,
                             options.batch_tokens, state_->threads->parallel_for());
  std::vector<Hypothesis> scored(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!encoded[i].empty()) scored[i] = to_hypothesis(std::move(found[i]), tokenizer);
    scored[i].text = texts[i];
  }
  return scored;
}

}  // namespace v0
}  // namespace transmute

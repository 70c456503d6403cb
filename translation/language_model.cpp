// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/language_model.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/common/threads.h>
#include <transmute/engine/device_backend.h>
#include <transmute/search/batches.h>
#include <transmute/search/score_targets.h>
#include <transmute/translation/call_hooks.h>
#include <transmute/translation/join_parts.h>
#include <transmute/translation/open_models.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

std::vector<Ids> encode_all(const SubwordModel& tokenizer, const std::vector<std::string>& texts, CallHooks& hooks) {
  std::vector<Ids> encoded;
  for (size_t i = 0; i < texts.size(); ++i) {
    hooks.check();
    check_utf8(texts[i], "text", i + 1);
    encoded.push_back(tokenizer.encode(texts[i]));
  }
  return encoded;
}

void check_limits(const GenerationOptions& options) {
  check_at_least_one(options.batch_size, "batch_size");
  check_at_least_one(options.batch_tokens, "batch_tokens");
}

// The prompt itself, and what follows it in the text of all the tokens: decoding would normalize the prompt.
std::string continued(const std::string& prompt, const std::string& decoded_prompt, const std::string& decoded) {
  if (decoded.compare(0, decoded_prompt.size(), decoded_prompt) != 0) return decoded;
  const size_t content = prompt.find_last_not_of(" \t\r\n");
  return prompt.substr(0, content == std::string::npos ? 0 : content + 1) + decoded.substr(decoded_prompt.size());
}

}  // namespace

struct LanguageModel::State {
  State(const std::string& path, const TranslatorOptions& options)
      : State(path, options, find_device(options.device)) {}
  State(const std::string& path, const TranslatorOptions& options, const Device& device)
      : threads(worker_count(options.threads, device)),
        opened(open_models(model_paths(path, options), device, Architecture::decoder_only, options,
                           threads.parallel_for())) {}

  // The maximum number of tokens of a text, and the reason.
  int64_t most_tokens() const { return std::min(kMaxWholeTokens, model().most_tokens); }
  std::string limit() const {
    if (model().most_tokens >= kMaxWholeTokens)
      return fmt::format("a language model takes at most {}", kMaxWholeTokens);
    return fmt::format("the model has learned positions for {} (model.max_positions, one of them for the end)",
                       model().most_tokens);
  }

  // Checks a number of tokens that any text may ask for.
  void check_added(int64_t added) const {
    if (added > most_tokens())
      throw std::invalid_argument(fmt::format("a text cannot get {} more tokens: {}; ask for fewer", added, limit()));
  }

  void check_lengths(const std::vector<Ids>& texts, int64_t added) const {
    const std::string more = added > 0 ? fmt::format(" and is to get {} more", added) : "";
    for (size_t i = 0; i < texts.size(); ++i)
      if (const auto length = static_cast<int64_t>(texts[i].size()); length > most_tokens() - added)
        throw BadText(i, fmt::format("it has {} tokens{}; {}", length, more, limit()));
  }

  const ReadyModel& model() const { return opened.ready; }

  mutable ThreadPool threads;
  OpenedModels opened;
};

LanguageModel::LanguageModel(const std::string& model, const TranslatorOptions& options) {
  if (!options.shortlist.table.empty())
    throw std::invalid_argument("shortlists are for translation models: a language model has no source");
  if (!options.reverse_model.empty())
    throw std::invalid_argument("reranking is for translation models: a language model has no source");
  if (options.listed_pieces)
    throw std::invalid_argument("listed_pieces is for translation models: a language model takes text");
  state_ = std::make_unique<State>(model, options);
}

LanguageModel::~LanguageModel() = default;
LanguageModel::LanguageModel(LanguageModel&&) noexcept = default;
LanguageModel& LanguageModel::operator=(LanguageModel&&) noexcept = default;

std::string LanguageModel::slow_reason() const {
  return state_->model().slow_reason;
}

std::string LanguageModel::generate(const std::string& prompt, const GenerationOptions& options) const {
  return generate_batch({prompt}, options).front().hypotheses.front().text;
}

std::vector<Translation> LanguageModel::generate_batch(const std::vector<std::string>& prompts,
                                                       const GenerationOptions& options,
                                                       const TranslationHooks& hooks) const {
  const SubwordModel& tokenizer = state_->opened.tokenizer.target();
  CallHooks call_hooks(hooks, std::vector<size_t>(prompts.size(), 1));
  const std::vector<Ids> encoded = encode_all(tokenizer, prompts, call_hooks);
  check_limits(options);
  check_search_options(options.search);
  state_->check_added(options.search.max_extra_length);
  state_->check_lengths(encoded, options.search.max_extra_length);
  std::vector<size_t> lengths;
  for (const Ids& ids : encoded) lengths.push_back(ids.size());
  const auto batches =
      batches_by_length(lengths, options.batch_size, options.batch_tokens, search_size(options.search));

  const auto text_of = [&](size_t text, const Ids& ids) {
    return continued(prompts[text], tokenizer.decode(encoded[text]), tokenizer.decode(ids));
  };
  const auto so_far = [&](size_t text, const Ids& certain) -> std::optional<std::string> {
    if (certain.size() <= encoded[text].size()) return {};  // still the prompt
    return text_of(text, certain);
  };
  std::vector<Translation> results(prompts.size());
  const auto continue_batch = [&](size_t b) {
    const std::vector<size_t>& batch = batches[b];
    std::vector<SearchRequest> requests;
    for (const size_t text : batch) {
      requests.push_back({encoded[text], encoded[text]});
      if (options.search.constraint) requests.back().text = prompts[text];
    }
    SearchContext context;
    context.excluded = tokenizer.line_breaks();
    const auto text_of_sentence = [&](size_t sentence) { return batch[sentence]; };
    const SearchHooks search_hooks = call_hooks.search_hooks(text_of_sentence, so_far);
    if (options.search.num_hypotheses > 1 && !options.search.sampling)
      context.text_of = [&](const Ids& ids) { return tokenizer.decode(ids); };
    auto found = beam_search(*state_->model().model, requests, options.search, search_hooks, context);
    for (size_t i = 0; i < batch.size(); ++i) {
      const size_t text = batch[i];
      for (const int64_t id : encoded[text]) results[text].source_tokens.push_back(tokenizer.piece(id));
      for (IdHypothesis& hypothesis : found[i]) {
        std::string whole = text_of(text, hypothesis.ids);
        results[text].hypotheses.push_back(to_hypothesis(std::move(hypothesis), tokenizer));
        results[text].hypotheses.back().text = std::move(whole);
      }
      call_hooks.text_done(text, results[text].hypotheses.front().text);
    }
  };
  state_->threads.for_each(batches.size(), continue_batch);
  return results;
}

std::vector<Hypothesis> LanguageModel::score_batch(const std::vector<std::string>& texts,
                                                   const GenerationOptions& options,
                                                   const TranslationHooks& hooks) const {
  const SubwordModel& tokenizer = state_->opened.tokenizer.target();
  CallHooks call_hooks(hooks, {});
  const std::vector<Ids> encoded = encode_all(tokenizer, texts, call_hooks);
  check_limits(options);
  state_->check_lengths(encoded, 0);
  auto found = score_targets(*state_->model().model, encoded, encoded, options.search, options.batch_size,
                             options.batch_tokens, state_->threads.parallel_for(), 0, call_hooks.should_stop());
  std::vector<Hypothesis> scored(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!encoded[i].empty()) scored[i] = to_hypothesis(std::move(found[i]), tokenizer);
    scored[i].text = texts[i];
  }
  return scored;
}

}  // namespace v0
}  // namespace transmute

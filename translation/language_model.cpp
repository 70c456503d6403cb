// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/language_model.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/common/threads.h>
#include <transmute/engine/device_backend.h>
#include <transmute/search/batches.h>
#include <transmute/translation/call_hooks.h>
#include <transmute/translation/engine.h>
#include <transmute/translation/open_models.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// Tokenizes the texts. Each result begins with its own text.
SourceTexts encode_all(const SubwordModel& tokenizer, const std::vector<std::string>& texts,
                       const TranslationHooks& hooks) {
  CallHooks call_hooks(hooks, {});
  SourceTexts sources;
  for (size_t i = 0; i < texts.size(); ++i) {
    call_hooks.check();
    check_utf8(texts[i], "text", i + 1);
    SourcePart part{i, texts[i], tokenizer.encode(texts[i])};
    part.prefix = part.ids;
    sources.push_back({{std::move(part)}});
  }
  return sources;
}

const Ids& own(const SourceText& text) {
  return text.parts.front().ids;
}

TranslationOptions checked(const GenerationOptions& options) {
  check_at_least_one(options.batch_size, "batch_size");
  check_at_least_one(options.batch_tokens, "batch_tokens");
  TranslationOptions ours;
  ours.search = options.search;
  ours.batch_size = options.batch_size;
  ours.batch_tokens = options.batch_tokens;
  ours.guard = Guard::off;
  return ours;
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
        engine(opened_engine(open_models(model_paths(path, options), device, Architecture::decoder_only, options,
                                         threads.parallel_for()))) {}

  TranslationEngine opened_engine(OpenedModels&& opened) {
    return {std::move(opened.ready), std::move(opened.tokenizer), threads.parallel_for()};
  }

  const SubwordModel& tokenizer() const { return engine.tokenizer().target(); }

  // The maximum number of tokens of a text, and the reason.
  int64_t most_tokens() const { return std::min(kMaxWholeTokens, engine.most_tokens()); }
  std::string limit() const {
    if (engine.most_tokens() >= kMaxWholeTokens)
      return fmt::format("a language model takes at most {}", kMaxWholeTokens);
    return fmt::format("the model has learned positions for {} (model.max_positions, one of them for the end)",
                       engine.most_tokens());
  }

  // Checks a number of tokens that any text may ask for.
  void check_added(int64_t added) const {
    if (added > most_tokens())
      throw std::invalid_argument(fmt::format("a text cannot get {} more tokens: {}; ask for fewer", added, limit()));
  }

  void check_lengths(const SourceTexts& texts, int64_t added) const {
    const std::string more = added > 0 ? fmt::format(" and is to get {} more", added) : "";
    for (size_t i = 0; i < texts.size(); ++i)
      if (const auto length = static_cast<int64_t>(own(texts[i]).size()); length > most_tokens() - added)
        throw BadText(i, fmt::format("it has {} tokens{}; {}", length, more, limit()));
  }

  mutable ThreadPool threads;
  TranslationEngine engine;
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
  return state_->engine.slow_reason();
}

std::string LanguageModel::generate(const std::string& prompt, const GenerationOptions& options) const {
  return generate_batch({prompt}, options).front().hypotheses.front().text;
}

std::vector<Translation> LanguageModel::generate_batch(const std::vector<std::string>& prompts,
                                                       const GenerationOptions& options,
                                                       const TranslationHooks& hooks) const {
  const SubwordModel& tokenizer = state_->tokenizer();
  const SourceTexts sources = encode_all(tokenizer, prompts, hooks);
  TranslationOptions ours = checked(options);
  check_search_options(options.search);
  if (ours.search.sampling) ours.search.length_alpha = 0;
  state_->check_added(options.search.max_extra_length);
  state_->check_lengths(sources, options.search.max_extra_length);
  const auto whole = [&](size_t text, const std::string& decoded) {
    return continued(prompts[text], tokenizer.decode(own(sources[text])), decoded);
  };
  const auto complete = [&](const TranslationEngine::Joined& joined) {
    for (Hypothesis& hypothesis : joined.translation.hypotheses)
      hypothesis.text = whole(joined.number, hypothesis.text);
  };
  const auto so_far = [&](const SourcePart& part, const Ids& certain, bool) -> std::optional<std::string> {
    if (certain.size() <= own(sources[part.text]).size()) return {};  // still the prompt
    return whole(part.text, tokenizer.decode(certain));
  };
  return state_->engine.translate_parts(sources, ours, hooks, complete, so_far);
}

std::vector<Hypothesis> LanguageModel::score_batch(const std::vector<std::string>& texts,
                                                   const GenerationOptions& options,
                                                   const TranslationHooks& hooks) const {
  SourceTexts sources = encode_all(state_->tokenizer(), texts, hooks);
  const TranslationOptions ours = checked(options);
  state_->check_lengths(sources, 0);
  for (SourceText& source : sources) {
    source.parts.front().prefix_is_complete = true;
    if (own(source).empty()) source.parts.clear();
  }
  return state_->engine.score_parts(sources, texts, ours, hooks);
}

}  // namespace v0
}  // namespace transmute

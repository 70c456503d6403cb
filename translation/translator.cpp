// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/translator.h>

#include <transmute/common/threads.h>
#include <transmute/engine/device_backend.h>
#include <transmute/formats/foreign/model_languages.h>
#include <transmute/translation/engine.h>
#include <transmute/translation/open_models.h>

#include <memory>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// The options of a call that is given none.
TranslationOptions recommended_options(const Translator& translator) {
  TranslationOptions options;
  options.search = translator.default_search();
  return options;
}

}  // namespace

struct Translator::State {
  State(const std::string& path, const TranslatorOptions& options)
      : device(find_device(options.device)),
        listed_pieces(options.listed_pieces),
        languages(languages_in_files(path)),
        threads(worker_count(options.threads, device)) {
    OpenedModels opened =
        open_models(model_paths(path, options), device, Architecture::encoder_decoder, options, threads.parallel_for());
    default_search = opened.search;
    if (options.listed_pieces) opened.tokenizer = opened.tokenizer.of_listed_pieces();
    engine = std::make_unique<TranslationEngine>(std::move(opened.ready), opened.tokenizer, threads.parallel_for());
    engine->align_with(default_search.alignment_layer, default_search.alignment_head);
    engine->use(opened.profile.sentences);
    engine->leave_to_models(opened.profile.protection.learned);
    if (const std::string& table = options.shortlist.table; table.empty()) {
      if (device.is_cpu()) engine->use_by_default(std::move(opened.shortlist));
    } else if (table != kNoShortlist) {
      engine->use(std::make_shared<Shortlist>(options.shortlist, opened.tokenizer));
    }
    engine->use(opened.profile.translations);
    if (!options.reverse_model.empty()) engine->rerank_with(open_reverse(options));
  }

  std::unique_ptr<const TranslationEngine> open_reverse(const TranslatorOptions& options) const {
    OpenedModels opened =
        open_models({options.reverse_model}, device, Architecture::encoder_decoder, options, threads.parallel_for());
    if (options.listed_pieces) opened.tokenizer = opened.tokenizer.of_listed_pieces();
    return std::make_unique<const TranslationEngine>(std::move(opened.ready), std::move(opened.tokenizer), one_by_one);
  }

  // The options without those that are for plain text.
  static TranslationOptions for_listed_pieces(TranslationOptions options) {
    options.split_sentences = SentenceSplitting::never;
    options.guard = Guard::off;
    options.protect = Protection::none;
    options.letter_case = LetterCase::kept;
    return options;
  }

  Device device;
  bool listed_pieces;
  LanguagePair languages;
  mutable ThreadPool threads;
  SearchOptions default_search;
  std::unique_ptr<TranslationEngine> engine;
};

Translator::Translator(const std::string& model, const TranslatorOptions& options)
    : state_(std::make_unique<State>(model, options)) {}

Translator::~Translator() = default;
Translator::Translator(Translator&&) noexcept = default;
Translator& Translator::operator=(Translator&&) noexcept = default;

SearchOptions Translator::default_search() const {
  return state_->default_search;
}

const Tokenizer& Translator::tokenizer() const {
  return state_->engine->tokenizer();
}

LanguagePair Translator::languages() const {
  return state_->languages;
}

bool Translator::splits_sentences() const {
  return state_->engine->splits_sentences();
}

SentenceSplitter Translator::sentence_splitter(const std::string& language) const {
  return state_->engine->sentence_splitter(language);
}

std::string Translator::slow_reason() const {
  return state_->engine->slow_reason();
}

std::string Translator::translate(const std::string& text) const {
  return translate_batch({text}).front().hypotheses.front().text;
}

std::string Translator::translate(const std::string& text, const TranslationOptions& options) const {
  return translate_batch({text}, options).front().hypotheses.front().text;
}

std::vector<Translation> Translator::translate_batch(const std::vector<std::string>& texts) const {
  return translate_batch(texts, recommended_options(*this));
}

std::vector<Translation> Translator::translate_batch(const std::vector<std::string>& texts,
                                                     const TranslationOptions& options,
                                                     const TranslationHooks& hooks) const {
  if (state_->listed_pieces) return state_->engine->translate(texts, State::for_listed_pieces(options), hooks);
  return state_->engine->translate(texts, options, hooks);
}

void Translator::check(const TranslationOptions& options) const {
  state_->engine->translate({}, options);  // checks the languages and the glossary too
}

std::vector<Hypothesis> Translator::score_batch(const std::vector<std::string>& sources,
                                                const std::vector<std::string>& targets,
                                                const TranslationOptions& options,
                                                const TranslationHooks& hooks) const {
  return state_->engine->score(sources, targets, options, hooks);
}

std::vector<Hypothesis> Translator::score_batch(const std::vector<std::string>& sources,
                                                const std::vector<std::string>& targets) const {
  return score_batch(sources, targets, recommended_options(*this));
}

}  // namespace v0
}  // namespace transmute

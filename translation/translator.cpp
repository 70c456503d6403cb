// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/translator.h>

#include <transmute/common/memory.h>
#include <transmute/common/threads.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/plain_errors.h>
#include <transmute/translation/engine.h>
#include <transmute/translation/load_ensemble.h>

namespace transmute {
inline namespace v0 {

struct Translator::State {
  State(OpenedEnsemble opened, const TranslatorOptions& options)
      : threads(std::move(opened.threads)),
        default_search(opened.models.search),
        engine(opened.models.transformers, opened.models.tokenizer, opened.device, opened.models.precision,
               threads->parallel_for(), WeightUse::taken) {
    engine.align_with(default_search.alignment_layer, default_search.alignment_head);
    engine.use(opened.models.profile.sentences);
    engine.leave_to_models(opened.models.profile.protection.learned);
    if (!options.shortlist.table.empty()) engine.use(Shortlist(options.shortlist, opened.models.tokenizer));
    engine.use(opened.models.profile.translations);
    opened.models.transformers.clear();
    if (!options.reverse_model.empty()) engine.rerank_with(open_reverse(options, opened.device));
    return_freed_memory();
  }

  std::unique_ptr<const TranslationEngine> open_reverse(const TranslatorOptions& options, torch::Device device) const {
    const LoadedEnsemble model = load_ensemble({options.reverse_model}, device, Architecture::encoder_decoder,
                                               options.precision, threads->parallel_for());
    return std::make_unique<const TranslationEngine>(model.transformers, model.tokenizer, device, model.precision,
                                                     one_by_one, WeightUse::taken);
  }

  std::unique_ptr<ThreadPool> threads;
  SearchOptions default_search;
  TranslationEngine engine;
};

Translator::Translator(const std::string& model, const TranslatorOptions& options) {
  state_ = with_plain_errors(
      [&] { return std::make_unique<State>(open_ensemble(model, options, Architecture::encoder_decoder), options); });
}

Translator::~Translator() = default;
Translator::Translator(Translator&&) noexcept = default;
Translator& Translator::operator=(Translator&&) noexcept = default;

SearchOptions Translator::default_search() const {
  return state_->default_search;
}

const Tokenizer& Translator::tokenizer() const {
  return state_->engine.tokenizer();
}

bool Translator::splits_sentences() const {
  return state_->engine.splits_sentences();
}

SentenceSplitter Translator::sentence_splitter(const std::string& language) const {
  return state_->engine.sentence_splitter(language);
}

std::string Translator::slow_reason() const {
  return state_->engine.slow_reason();
}

std::string Translator::translate(const std::string& text, const TranslationOptions& options) const {
  return translate_batch({text}, options).front().hypotheses.front().text;
}

std::vector<Translation> Translator::translate_batch(const std::vector<std::string>& texts,
                                                     const TranslationOptions& options,
                                                     const TranslationHooks& hooks) const {
  return with_plain_errors([&] { return state_->engine.translate(texts, options, hooks); });
}

std::vector<Hypothesis> Translator::score_batch(const std::vector<std::string>& sources,
                                                const std::vector<std::string>& targets,
                                                const TranslationOptions& options) const {
  return with_plain_errors([&] { return state_->engine.score(sources, targets, options); });
}

}  // namespace v0
}  // namespace transmute

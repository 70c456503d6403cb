// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/source_parts.h>
#include <transmute/tokenizer/tokenizer.h>
#include <transmute/translation/c_calls.h>
#include <transmute/translation/document_translation.h>
#include <transmute/translation/language_model.h>
#include <transmute/translation/translator.h>
#include <transmute/translation/transmute.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

struct transmute_language_model {
  transmute::LanguageModel model;
};

namespace {

using transmute::c::guarded;
using transmute::c::hooks_of;
using transmute::c::read_options;
using transmute::c::read_strings;
using transmute::c::translator_options;
using transmute::c::write_options;

// Gives an option the value of this name; NULL leaves it as it is.
template <typename Value>
void choose(Value& option, const char* what, const char* name,
            const std::vector<std::pair<std::string, Value>>& values) {
  if (name == nullptr) return;
  std::string names;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& [known, value] = values[i];
    if (name == known) return void(option = value);
    names += (i == 0 ? "" : i + 1 < values.size() ? ", " : " or ") + ('"' + known + '"');
  }
  throw std::invalid_argument(std::string(what) + " must be " + names + ", not \"" + name + '"');
}

transmute::SentenceSplitting splitting_of(int value) {
  switch (value) {
    case TRANSMUTE_SPLIT_NEVER:
      return transmute::SentenceSplitting::never;
    case TRANSMUTE_SPLIT_ALWAYS:
      return transmute::SentenceSplitting::always;
    case TRANSMUTE_SPLIT_AUTOMATIC:
      return transmute::SentenceSplitting::automatic;
    default:
      throw std::invalid_argument(
          "split_sentences must be TRANSMUTE_SPLIT_NEVER, TRANSMUTE_SPLIT_ALWAYS or "
          "TRANSMUTE_SPLIT_AUTOMATIC, not " +
          std::to_string(value));
  }
}

// All but the target prefixes, whose number the texts have.
transmute::TranslationOptions translation_options(const transmute_translation_options& given) {
  transmute::TranslationOptions ours;
  ours.search.beam_size = given.beam_size;
  ours.search.num_hypotheses = given.num_hypotheses;
  ours.search.length_alpha = given.length_alpha;
  ours.search.max_extra_length = given.max_extra_length;
  ours.search.alignments = given.alignments != 0;
  ours.search.alignment_layer = given.alignment_layer;
  ours.search.alignment_head = given.alignment_head;
  ours.search.coverage_beta = given.coverage_beta;
  ours.search.min_length = given.min_length;
  ours.search.no_repeat_ngram = given.no_repeat_ngram;
  ours.search.repetition_penalty = given.repetition_penalty;
  if (given.power_length_penalty != 0) ours.search.length_penalty = transmute::LengthPenalty::power;
  if (given.sample != 0) ours.search.sampling = {given.temperature, given.top_k, given.top_p, given.seed};
  ours.search.alternatives = given.alternatives != 0;
  ours.batch_size = given.batch_size;
  ours.batch_tokens = given.batch_tokens;
  ours.max_source_tokens = given.max_source_tokens;
  ours.inline_tags = given.inline_tags != 0;
  ours.split_sentences = splitting_of(given.split_sentences);
  if (given.text_language != nullptr) ours.text_language = given.text_language;
  if (given.source_language != nullptr) ours.source_language = given.source_language;
  if (given.target_language != nullptr) ours.target_language = given.target_language;
  ours.mbr.candidates = given.mbr_candidates;
  choose(ours.mbr.utility, "mbr_utility", given.mbr_utility,
         {{"chrf", transmute::MbrUtility::chrf}, {"bleu", transmute::MbrUtility::bleu}});
  ours.rerank.candidates = given.rerank_candidates;
  ours.rerank.weight = given.rerank_weight;
  if (given.rerank_source_language != nullptr) ours.rerank.source_language = given.rerank_source_language;
  if (given.rerank_target_language != nullptr) ours.rerank.target_language = given.rerank_target_language;
  choose(ours.guard, "guard", given.guard,
         {{"off", transmute::Guard::off}, {"warn", transmute::Guard::warn}, {"retry", transmute::Guard::retry}});
  choose(ours.protect, "protect", given.protect,
         {{"auto", transmute::Protection::automatic},
          {"all", transmute::Protection::all},
          {"none", transmute::Protection::none}});
  choose(ours.long_texts, "long_texts", given.long_texts,
         {{"split", transmute::LongTexts::split}, {"fail", transmute::LongTexts::refused}});
  choose(ours.letter_case, "letter_case", given.letter_case,
         {{"adapt", transmute::LetterCase::adapted}, {"keep", transmute::LetterCase::kept}});
  ours.word_alignments = given.word_alignments != 0;
  ours.suppress_sequences = read_strings(given.suppress_sequences, given.suppress_sequences_size, "sequence");
  if (given.glossary_size > SIZE_MAX / 2)
    throw std::invalid_argument("the glossary's size is " + std::to_string(given.glossary_size) + "; is it negative?");
  const std::vector<std::string> terms = read_strings(given.glossary, 2 * given.glossary_size, "glossary term");
  for (size_t i = 0; i < terms.size(); i += 2) ours.glossary.push_back({terms[i], terms[i + 1]});
  return ours;
}

// The part of `ours` that the interface in C has.
transmute_translation_options c_options(const transmute::TranslationOptions& ours) {
  transmute_translation_options defaults{};
  defaults.beam_size = ours.search.beam_size;
  defaults.num_hypotheses = ours.search.num_hypotheses;
  defaults.length_alpha = ours.search.length_alpha;
  defaults.max_extra_length = ours.search.max_extra_length;
  defaults.alignments = ours.search.alignments ? 1 : 0;
  defaults.batch_size = ours.batch_size;
  defaults.batch_tokens = ours.batch_tokens;
  defaults.max_source_tokens = ours.max_source_tokens;
  defaults.coverage_beta = ours.search.coverage_beta;
  defaults.min_length = ours.search.min_length;
  defaults.no_repeat_ngram = ours.search.no_repeat_ngram;
  defaults.repetition_penalty = ours.search.repetition_penalty;
  defaults.rerank_weight = ours.rerank.weight;
  defaults.split_sentences = TRANSMUTE_SPLIT_AUTOMATIC;
  const transmute::SamplingOptions sampling;
  defaults.temperature = sampling.temperature;
  defaults.top_k = sampling.top_k;
  defaults.top_p = sampling.top_p;
  defaults.seed = sampling.seed;
  defaults.power_length_penalty = ours.search.length_penalty == transmute::LengthPenalty::power ? 1 : 0;
  return defaults;
}

transmute::GenerationOptions generation_options(const transmute_translation_options& given) {
  if (given.target_prefixes != nullptr || given.glossary_size > 0 || given.inline_tags != 0 ||
      given.split_sentences != TRANSMUTE_SPLIT_NEVER || given.text_language != nullptr ||
      given.source_language != nullptr || given.target_language != nullptr || given.mbr_candidates != 0 ||
      given.rerank_candidates != 0 || given.guard != nullptr || given.protect != nullptr ||
      given.long_texts != nullptr || given.letter_case != nullptr || given.word_alignments != 0 ||
      given.suppress_sequences_size > 0)
    throw std::invalid_argument(
        "target_prefixes, glossary, inline_tags, split_sentences, text_language, source_language, target_language, "
        "mbr_candidates, rerank_candidates, guard, protect, long_texts, letter_case, word_alignments and "
        "suppress_sequences are for translators, not for language models");
  const transmute::TranslationOptions shared = translation_options(given);
  transmute::GenerationOptions ours;
  ours.search = shared.search;
  ours.batch_size = shared.batch_size;
  ours.batch_tokens = shared.batch_tokens;
  return ours;
}

// The options of a call; without any, the defaults with the search that the model recommends.
transmute_translation_options call_options(const transmute_translator* translator,
                                           const transmute_translation_options* options) {
  if (options != nullptr) return read_options(options, transmute_translation_options_init);
  transmute_translation_options recommended;
  transmute_translation_options_of(translator, &recommended, sizeof(recommended));
  return recommended;
}

// The tokens that the alignment of a scored translation has.
std::vector<std::string> source_tokens(const std::string& text, const transmute::SubwordModel& tokenizer) {
  std::vector<std::string> tokens;
  for (const int64_t id : transmute::segment_source(tokenizer, text).tokens.ids) tokens.push_back(tokenizer.piece(id));
  return tokens;
}

// A hypothesis for each text.
transmute_result* one_each(std::vector<transmute::Hypothesis> hypotheses) {
  auto result = std::make_unique<transmute_result>();
  for (auto& hypothesis : hypotheses) result->translations.emplace_back().hypotheses.push_back(std::move(hypothesis));
  return result.release();
}

}  // namespace

extern "C" {

void transmute_translator_options_init(transmute_translator_options* options, size_t struct_size) {
  static const transmute::TranslatorOptions kDefaults;
  transmute_translator_options defaults{};
  defaults.device = kDefaults.device.c_str();
  defaults.threads = kDefaults.threads;
  defaults.shortlist_best = kDefaults.shortlist.best;
  defaults.shortlist_frequent = kDefaults.shortlist.frequent;
  write_options(defaults, options, struct_size);
}

void transmute_translation_options_init(transmute_translation_options* options, size_t struct_size) {
  write_options(c_options({}), options, struct_size);
}

void transmute_translation_options_of(const transmute_translator* translator, transmute_translation_options* options,
                                      size_t struct_size) {
  transmute::TranslationOptions ours;
  if (translator != nullptr) ours.search = translator->translator.default_search();
  write_options(c_options(ours), options, struct_size);
}

const char* transmute_version(void) {
  return TRANSMUTE_VERSION;
}

int transmute_error_kind(void) {
  return transmute::c::error_kind();
}

int transmute_is_set(void* flag) {
  return __atomic_load_n(static_cast<const int*>(flag), __ATOMIC_RELAXED);
}

transmute_translator* transmute_open(const char* model, const transmute_translator_options* options, char** error) {
  return guarded(error, [&] {
    if (model == nullptr) throw std::invalid_argument("transmute_open: the model is NULL");
    const auto ours = translator_options(read_options(options, transmute_translator_options_init));
    return new transmute_translator{transmute::Translator(model, ours)};
  });
}

void transmute_close(transmute_translator* translator) {
  delete translator;
}

transmute_result* transmute_translate(const transmute_translator* translator, const char* const* texts, size_t count,
                                      const transmute_translation_options* options, char** error) {
  return guarded(error, [&] {
    if (translator == nullptr) throw std::invalid_argument("transmute_translate: the translator is NULL");
    const auto given = call_options(translator, options);
    transmute::TranslationOptions ours = translation_options(given);
    if (given.target_prefixes != nullptr) ours.target_prefixes = read_strings(given.target_prefixes, count, "prefix");
    return new transmute_result{
        translator->translator.translate_batch(read_strings(texts, count, "text"), ours, hooks_of(given))};
  });
}

void transmute_document_options_init(transmute_document_options* options, size_t struct_size) {
  write_options(transmute_document_options{}, options, struct_size);
}

int transmute_translate_document(const transmute_translator* translator, const char* input, const char* output,
                                 const transmute_document_options* document,
                                 const transmute_translation_options* options, char** error) {
  return static_cast<int>(
      guarded(error, [&] {
        if (translator == nullptr || input == nullptr || output == nullptr)
          throw std::invalid_argument("transmute_translate_document: the translator, the input or the output is NULL");
        const auto given = call_options(translator, options);
        if (given.target_prefixes != nullptr) throw std::invalid_argument("documents take no target_prefixes");
        const auto reading = read_options(document, transmute_document_options_init);
        transmute::translate_document(translator->translator, input, output, translation_options(given),
                                      {reading.format == nullptr ? "" : reading.format, reading.retranslate != 0},
                                      hooks_of(given));
        return translator;
      }) != nullptr);
}

transmute_result* transmute_score(const transmute_translator* translator, const char* const* sources,
                                  const char* const* targets, size_t count,
                                  const transmute_translation_options* options, char** error) {
  return guarded(error, [&] {
    if (translator == nullptr) throw std::invalid_argument("transmute_score: the translator is NULL");
    const auto given = call_options(translator, options);
    const std::vector<std::string> texts = read_strings(sources, count, "source");
    std::unique_ptr<transmute_result> result(one_each(translator->translator.score_batch(
        texts, read_strings(targets, count, "target"), translation_options(given), hooks_of(given))));
    for (size_t i = 0; i < texts.size(); ++i)
      result->translations[i].source_tokens = source_tokens(texts[i], translator->translator.tokenizer().source());
    return result.release();
  });
}

transmute_language_model* transmute_open_language_model(const char* model, const transmute_translator_options* options,
                                                        char** error) {
  return guarded(error, [&] {
    if (model == nullptr) throw std::invalid_argument("transmute_open_language_model: the model is NULL");
    const auto ours = translator_options(read_options(options, transmute_translator_options_init));
    return new transmute_language_model{transmute::LanguageModel(model, ours)};
  });
}

void transmute_close_language_model(transmute_language_model* model) {
  delete model;
}

void transmute_generation_options_init(transmute_translation_options* options, size_t struct_size) {
  const transmute::GenerationOptions ours;
  transmute_translation_options defaults;
  transmute_translation_options_init(&defaults, sizeof(defaults));
  defaults.sample = 1;
  defaults.split_sentences = TRANSMUTE_SPLIT_NEVER;
  defaults.batch_size = ours.batch_size;
  defaults.batch_tokens = ours.batch_tokens;
  write_options(defaults, options, struct_size);
}

transmute_result* transmute_generate(const transmute_language_model* model, const char* const* prompts, size_t count,
                                     const transmute_translation_options* options, char** error) {
  return guarded(error, [&] {
    if (model == nullptr) throw std::invalid_argument("transmute_generate: the model is NULL");
    const auto given = read_options(options, transmute_generation_options_init);
    return new transmute_result{model->model.generate_batch(read_strings(prompts, count, "prompt"),
                                                            generation_options(given), hooks_of(given))};
  });
}

transmute_result* transmute_score_texts(const transmute_language_model* model, const char* const* texts, size_t count,
                                        const transmute_translation_options* options, char** error) {
  return guarded(error, [&] {
    if (model == nullptr) throw std::invalid_argument("transmute_score_texts: the model is NULL");
    const auto given = read_options(options, transmute_generation_options_init);
    return one_each(
        model->model.score_batch(read_strings(texts, count, "text"), generation_options(given), hooks_of(given)));
  });
}

void transmute_string_free(char* string) {
  std::free(string);
}

}  // extern "C"

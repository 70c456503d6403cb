// SPDX-License-Identifier: Apache-2.0
// Tokenizers, sentences, embeddings and metrics of transmute.h.
#include <transmute/formats/foreign/load_model.h>
#include <transmute/metrics/bleu.h>
#include <transmute/metrics/chrf.h>
#include <transmute/metrics/ter.h>
#include <transmute/text/sentence_language.h>
#include <transmute/text/sentences.h>
#include <transmute/tokenizer/tokenizer.h>
#include <transmute/translation/c_calls.h>
#include <transmute/translation/text_encoder.h>

#include <memory>
#include <utility>

struct transmute_tokenizer {
  const transmute::SubwordModel& model(int side) const {
    return side == TRANSMUTE_TARGET ? tokenizer.target() : tokenizer.source();
  }

  transmute::Tokenizer tokenizer;
};

struct transmute_segments {
  std::vector<std::string> texts;
  std::vector<int64_t> ids;  // none of sentences
  std::vector<std::pair<size_t, size_t>> places;
};

struct transmute_encoder {
  transmute::TextEncoder encoder;
};

struct transmute_vectors {
  std::vector<transmute::TextVectors> texts;
};

namespace {

using transmute::c::guarded;

void check_side(int side) {
  if (side != TRANSMUTE_SOURCE && side != TRANSMUTE_TARGET)
    throw std::invalid_argument("side must be TRANSMUTE_SOURCE or TRANSMUTE_TARGET, not " + std::to_string(side));
}

template <typename Handle>
const Handle& existing(const Handle* handle, const char* what) {
  if (handle == nullptr) throw std::invalid_argument(std::string("the ") + what + " is NULL");
  return *handle;
}

std::string text_of(const char* text, const char* what) {
  return transmute::c::read_strings(&text, 1, what).front();
}

const transmute::TextVectors* find_vectors(const transmute_vectors* vectors, size_t text) {
  return vectors != nullptr && text < vectors->texts.size() ? &vectors->texts[text] : nullptr;
}

transmute::BleuOptions bleu_options(const transmute_metric_options& given) {
  transmute::BleuOptions ours;
  if (given.tokenize != nullptr) ours.tokenizer = transmute::bleu_tokenizer_from_name(given.tokenize);
  if (given.smooth != nullptr) ours.smoothing = transmute::bleu_smoothing_from_name(given.smooth);
  if (given.smooth_value >= 0) ours.smoothing_value = given.smooth_value;
  ours.effective_order = given.effective_order != 0;
  if (given.lowercase != 0) ours.letter_case = transmute::BleuCase::lower;
  return ours;
}

transmute::TerOptions ter_options(const transmute_metric_options& given) {
  transmute::TerOptions ours;
  ours.normalized = given.ter_normalize != 0;
  ours.no_punctuation = given.ter_no_punctuation != 0;
  ours.asian_support = given.ter_asian_support != 0;
  ours.case_sensitive = given.case_sensitive != 0;
  return ours;
}

using Lines = std::vector<std::string>;

// The score, and what must be reported with it.
std::pair<double, std::string> evaluate(const std::string& metric, const Lines& hypotheses,
                                        const std::vector<Lines>& references, const transmute_metric_options& given) {
  const size_t sets = references.size();
  if (metric == "bleu") {
    const transmute::BleuOptions options = bleu_options(given);
    return {transmute::corpus_bleu(hypotheses, references, options).score,
            "BLEU|" + transmute::bleu_signature(options, sets)};
  }
  if (metric == "chrf" || metric == "chrf++") {
    transmute::ChrfOptions options;
    options.word_order = metric == "chrf" ? 0 : 2;
    options.lowercase = given.lowercase != 0;
    return {transmute::corpus_chrf(hypotheses, references, options),
            transmute::chrf_name(options) + "|" + transmute::chrf_signature(options, sets)};
  }
  if (metric == "ter") {
    const transmute::TerOptions options = ter_options(given);
    return {transmute::corpus_ter(hypotheses, references, options), "TER|" + transmute::ter_signature(options, sets)};
  }
  throw std::invalid_argument("metric must be \"bleu\", \"chrf\", \"chrf++\" or \"ter\", not \"" + metric + "\"");
}

}  // namespace

extern "C" {

transmute_tokenizer* transmute_open_tokenizer(const char* model, char** error) {
  return guarded(error, [&] {
    const std::string path = text_of(model, "model");
    return new transmute_tokenizer{transmute::Tokenizer::exists(path) ? transmute::Tokenizer::load(path)
                                                                      : transmute::load_model(path).tokenizer};
  });
}

transmute_tokenizer* transmute_tokenizer_of(const transmute_translator* translator, char** error) {
  return guarded(error,
                 [&] { return new transmute_tokenizer{existing(translator, "translator").translator.tokenizer()}; });
}

void transmute_close_tokenizer(transmute_tokenizer* tokenizer) {
  delete tokenizer;
}

transmute_segments* transmute_tokenize(const transmute_tokenizer* tokenizer, int side, const char* text, char** error) {
  return guarded(error, [&] {
    check_side(side);
    const auto& model = existing(tokenizer, "tokenizer").model(side);
    auto segmented = model.segment(text_of(text, "text"));
    auto segments = std::make_unique<transmute_segments>();
    segments->texts = std::move(segmented.pieces);
    segments->ids = std::move(segmented.ids);
    segments->places = std::move(segmented.spans);
    return segments.release();
  });
}

char* transmute_detokenize(const transmute_tokenizer* tokenizer, int side, const int64_t* ids, size_t count,
                           char** error) {
  return guarded(error, [&] {
    check_side(side);
    const auto& model = existing(tokenizer, "tokenizer").model(side);
    if (ids == nullptr && count > 0) throw std::invalid_argument("the array of ids is NULL");
    const transmute::Ids given(ids, ids + count);
    for (const int64_t id : given)
      if (id < 0 || id >= model.size())
        throw std::invalid_argument("the vocabulary has ids from 0 to " + std::to_string(model.size() - 1) + ", not " +
                                    std::to_string(id));
    return transmute::c::copy_of(model.decode(given));
  });
}

transmute_segments* transmute_vocabulary(const transmute_tokenizer* tokenizer, int side, char** error) {
  return guarded(error, [&] {
    check_side(side);
    auto segments = std::make_unique<transmute_segments>();
    const auto& model = existing(tokenizer, "tokenizer").model(side);
    for (int64_t id = 0; id < model.size(); ++id) segments->texts.push_back(model.piece(id));
    return segments.release();
  });
}

transmute_segments* transmute_languages(const transmute_tokenizer* tokenizer, char** error) {
  return guarded(error, [&] {
    auto segments = std::make_unique<transmute_segments>();
    segments->texts = existing(tokenizer, "tokenizer").tokenizer.source().language_names();
    return segments.release();
  });
}

transmute_segments* transmute_sentences(const transmute_translator* translator, const char* text, const char* language,
                                        char** error) {
  return guarded(error, [&] {
    const std::string name = language == nullptr ? "" : language;
    const std::string whole = text_of(text, "text");
    transmute::check_language("language", name);
    const auto splitter =
        translator == nullptr ? transmute::SentenceSplitter(name) : translator->translator.sentence_splitter(name);
    auto segments = std::make_unique<transmute_segments>();
    segments->places = splitter.spans(whole);
    for (const auto& [begin, end] : segments->places) segments->texts.push_back(whole.substr(begin, end - begin));
    return segments.release();
  });
}

size_t transmute_segments_count(const transmute_segments* segments) {
  return segments == nullptr ? 0 : segments->texts.size();
}

transmute_segment transmute_segments_get(const transmute_segments* segments, size_t index) {
  transmute_segment segment{};
  if (index >= transmute_segments_count(segments)) return segment;
  segment.text = segments->texts[index].c_str();
  segment.id = index < segments->ids.size() ? segments->ids[index] : static_cast<int64_t>(index);
  if (index < segments->places.size()) {
    segment.begin = segments->places[index].first;
    segment.end = segments->places[index].second;
  }
  return segment;
}

void transmute_segments_free(transmute_segments* segments) {
  delete segments;
}

transmute_encoder* transmute_open_encoder(const char* model, const transmute_translator_options* options,
                                          char** error) {
  return guarded(error, [&] {
    const auto given = transmute::c::read_options(options, transmute_translator_options_init);
    return new transmute_encoder{
        transmute::TextEncoder(text_of(model, "model"), transmute::c::translator_options(given))};
  });
}

void transmute_close_encoder(transmute_encoder* encoder) {
  delete encoder;
}

transmute_vectors* transmute_encode(const transmute_encoder* encoder, const char* const* texts, size_t count,
                                    const transmute_translation_options* options, int token_vectors, char** error) {
  return guarded(error, [&] {
    const auto given = transmute::c::read_options(options, transmute_translation_options_init);
    transmute::TextEncoderOptions ours;
    ours.batch_size = given.batch_size;
    ours.batch_tokens = given.batch_tokens;
    ours.max_source_tokens = given.max_source_tokens;
    ours.token_vectors = token_vectors != 0;
    if (given.source_language != nullptr) ours.source_language = given.source_language;
    if (given.target_language != nullptr) ours.target_language = given.target_language;
    return new transmute_vectors{
        existing(encoder, "encoder")
            .encoder.encode(transmute::c::read_strings(texts, count, "text"), ours, transmute::c::hooks_of(given))};
  });
}

size_t transmute_encoder_width(const transmute_encoder* encoder) {
  return encoder == nullptr ? 0 : static_cast<size_t>(encoder->encoder.d_model());
}

const float* transmute_vectors_mean(const transmute_vectors* vectors, size_t text) {
  const auto* found = find_vectors(vectors, text);
  return found == nullptr ? nullptr : found->mean.data();
}

size_t transmute_vectors_length(const transmute_vectors* vectors, size_t text) {
  const auto* found = find_vectors(vectors, text);
  return found == nullptr ? 0 : found->tokens.size();
}

const char* transmute_vectors_token(const transmute_vectors* vectors, size_t text, size_t position) {
  const auto* found = find_vectors(vectors, text);
  return found == nullptr || position >= found->tokens.size() ? nullptr : found->tokens[position].c_str();
}

const float* transmute_vectors_tokens(const transmute_vectors* vectors, size_t text) {
  const auto* found = find_vectors(vectors, text);
  return found == nullptr || found->vectors.empty() ? nullptr : found->vectors.data();
}

void transmute_vectors_free(transmute_vectors* vectors) {
  delete vectors;
}

void transmute_metric_options_init(transmute_metric_options* options, size_t struct_size) {
  transmute_metric_options defaults{};
  defaults.smooth_value = -1;
  transmute::c::write_options(defaults, options, struct_size);
}

char* transmute_evaluate(const char* metric, const char* const* hypotheses, size_t count, const char* const* references,
                         size_t reference_sets, const transmute_metric_options* options, double* score, char** error) {
  return guarded(error, [&] {
    const auto given = transmute::c::read_options(options, transmute_metric_options_init);
    const Lines ours = transmute::c::read_strings(hypotheses, count, "hypothesis");
    std::vector<Lines> sets;
    for (size_t set = 0; set < reference_sets; ++set)
      sets.push_back(transmute::c::read_strings(references + set * count, count, "reference"));
    const auto [value, signature] = evaluate(text_of(metric, "metric"), ours, sets, given);
    char* const copy = transmute::c::copy_of(signature);
    if (score != nullptr) *score = value;
    return copy;
  });
}

}  // extern "C"

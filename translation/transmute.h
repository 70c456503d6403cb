/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface (C99) of transmute, for every language that can call C: it opens models, and translates or generates
 * text.
 *
 *     char* error = NULL;
 *     transmute_translator* translator = transmute_open("runs/demo/model", NULL, &error);
 *     const char* texts[] = {"five hundred"};
 *     transmute_result* result = translator ? transmute_translate(translator, texts, 1, NULL, &error) : NULL;
 *     if (result) puts(transmute_result_text(result, 0, 0));
 *     else fprintf(stderr, "%s\n", error);
 *     transmute_string_free(error);
 *     transmute_result_free(result);
 *     transmute_close(translator);
 *
 * Texts are UTF-8 and end with a zero byte. Functions that can fail return NULL and, if `error` is not NULL, set *error
 * to a message for people, to be freed with transmute_string_free (NULL if there is no memory for one). No exception
 * crosses this interface. Many threads may use a translator at once, and read a result. Functions that free or close
 * accept NULL. A thread must not be cancelled (pthread_cancel) within a call.
 */
#ifndef TRANSMUTE_H
#define TRANSMUTE_H

#include <stddef.h>
#include <stdint.h>
#include <transmute/common/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A translation model, opened by transmute_open. */
typedef struct transmute_translator transmute_translator;

/* A language model, opened by transmute_open_language_model. */
typedef struct transmute_language_model transmute_language_model;

/* The result of a call: translations, continuations or scores. */
typedef struct transmute_result transmute_result;

/* What went wrong in a call. */
enum {
  TRANSMUTE_ERROR_OTHER = 0,            /* a file is missing or damaged, a device fails, … */
  TRANSMUTE_ERROR_INVALID_ARGUMENT = 1, /* a mistake of the caller */
  TRANSMUTE_ERROR_NO_MEMORY = 2,        /* there is not enough memory */
  TRANSMUTE_ERROR_CANCELLED = 3         /* should_stop has ended the call */
};

/* Options for opening a model. Start from transmute_translator_options_default(). */
typedef struct transmute_translator_options {
  size_t struct_size;    /* set by the default function, so that the struct can grow in later versions */
  const char* device;    /* "cpu", "cuda", "cuda:N" or "auto" */
  int threads;           /* worker threads on the CPU, with one batch each; 0: one per core */
  const char* precision; /* of matrix products: "float32", "bfloat16", "int8" (CPUs), "half" (GPUs); NULL: the type in
                            which all models are stored if the device is fast at it, otherwise "float32" */

  const char* const* ensemble; /* further models with the same tokenizer, whose probabilities are averaged */
  size_t ensemble_size;        /* models in `ensemble` */

  const char* shortlist;      /* file of a vocabulary shortlist; "none"; NULL: the model's own, if any */
  int64_t shortlist_best;     /* maximum number of target tokens per source token */
  int64_t shortlist_frequent; /* tokens from the start of the vocabulary to allow always */

  const char* reverse_model; /* a model of the opposite direction, for rerank_candidates; or NULL */

  /* nonzero: texts, prefixes, targets and translations are lists of the vocabulary's pieces with spaces between them,
   * languages included, for applications with a tokenizer of their own. split_sentences, guard, protect and letter_case
   * have no effect then. For translators only. */
  int listed_pieces;
} transmute_translator_options;

/* When the sentences of a text are translated separately. TRANSMUTE_SPLIT_AUTOMATIC: unless the model was trained on
 * lines with several sentences. */
enum { TRANSMUTE_SPLIT_NEVER = 0, TRANSMUTE_SPLIT_ALWAYS = 1, TRANSMUTE_SPLIT_AUTOMATIC = 2 };

/* Options of a translation call. Start from transmute_translation_options_default(). */
typedef struct transmute_translation_options {
  size_t struct_size;        /* set by the default function */
  int64_t beam_size;         /* 1: greedy search */
  int64_t num_hypotheses;    /* number of translations per text, at most beam_size: raise both */
  double length_alpha;       /* log P / ((5 + length) / 6)^alpha ranks them */
  int64_t max_extra_length;  /* maximum target length minus source length */
  int alignments;            /* nonzero: fill transmute_result_alignment */
  int64_t batch_size;        /* maximum number of texts in a thread's batch */
  int64_t batch_tokens;      /* maximum number of source tokens in a batch, padding included */
  int64_t max_source_tokens; /* longer texts are translated in parts, which are joined */

  /* Callbacks, or NULL. They run on the translator's threads, but never two at a time for one call. */
  /* on_text gets the beginning of a translation that can no longer change, as it grows: finished sentences and the
   * certain words of the next; a text with protected spans comes as a whole. With it, the guard only warns. */
  void (*on_text)(void* user, size_t text, const char* so_far);
  void (*on_progress)(void* user, size_t done, size_t total); /* after each text that has content */
  int (*should_stop)(void* user);                             /* nonzero ends the call with the error "cancelled" */
  void* user;                                                 /* passed to the callbacks */

  int64_t alignment_layer;  /* decoder layer, from 1; 0: the last */
  int64_t alignment_head;   /* from 1; 0: the mean over heads; both 0: the head that guided alignment trained, if any */
  double coverage_beta;     /* weight of the coverage penalty; 0: none */
  int64_t min_length;       /* minimum number of target tokens, unless the maximum is less */
  int64_t no_repeat_ngram;  /* forbid repeating any n tokens in a row; 0: allow it */
  int power_length_penalty; /* nonzero: the length penalty is length^length_alpha */

  /* Alternatives to searching, with num_hypotheses results per text. */
  int sample;         /* nonzero: sample from the model's distribution */
  double temperature; /* below 1 sharpens the distribution, above 1 flattens it; 0 takes the best token */
  int64_t top_k;      /* sample only from the k most probable tokens; 0: from all */
  double top_p;       /* sample only from the smallest set of tokens with at least this total probability */
  uint64_t seed;      /* the same seed and text give the same samples */
  int alternatives;   /* nonzero: the most probable next tokens after the prefix, each completed greedily */

  const char* const* target_prefixes; /* the beginning of each translation, one per text; or NULL */
  const char* const* glossary;        /* source term, target term, source term, target term, … */
  size_t glossary_size;               /* number of pairs */
  int inline_tags;                    /* nonzero: carry tags such as <b>, </b>, <br/> and {name} over */
  int split_sentences;                /* whether to translate the sentences of a text separately: TRANSMUTE_SPLIT_… */

  const char* source_language; /* for multilingual models, by the model's own name, such as eng_Latn; or NULL */
  const char* target_language; /* likewise, such as deu_Latn or deu */

  /* Minimum Bayes risk: of this many translations or samples, choose the one most similar to the others; 0: off. */
  int64_t mbr_candidates;
  const char* mbr_utility; /* similarity measure, "chrf" or "bleu"; NULL: chrf */

  /* Reranking with reverse_model: of this many translations or samples, choose the one with the best combined score. */
  int64_t rerank_candidates;          /* 0: off */
  double rerank_weight;               /* weight of the reverse model's score */
  const char* rerank_source_language; /* what reverse_model calls the translations' language; NULL: target_language */
  const char* rerank_target_language; /* what it calls the texts' language; NULL: source_language */

  const char* guard; /* what to do about translations that look wrong: "retry" searches again for a better one, "warn"
                        only fills transmute_result_warning, "off"; NULL: retry */
  const char* text_language; /* language of the texts, such as "de", for finding sentences; NULL: found out */

  /* Placeholders (%s, {0}), accelerators (&File), addresses, paths, identifiers, emoji, markers such as a list's dash,
   * and words with characters that the vocabulary lacks: "auto" and "all" return each as it is, once, "auto" but for
   * those that the model learned to write from its training text; "none" gives them to the model. NULL: auto. */
  const char* protect;

  /* Texts of more than max_source_tokens: "split" translates them in parts, "fail" is an error. NULL: split. */
  const char* long_texts;
  /* Sentences in capitals or In Title Case for which the vocabulary needs clearly more pieces than in ordinary case:
   * "adapt" translates them in ordinary case and gives the translation the case of the source, "keep" translates them
   * as they are. NULL: adapt. */
  const char* letter_case;
  int word_alignments; /* nonzero: fill transmute_result_links */

  double repetition_penalty;             /* above 1: makes tokens that a translation already has less probable */
  const char* const* suppress_sequences; /* texts that no translation contains as the same tokens; or NULL */
  size_t suppress_sequences_size;        /* number of these texts */
} transmute_translation_options;

/* Fills the first struct_size bytes of `options` with the defaults for opening a model. */
TRANSMUTE_API void transmute_translator_options_init(transmute_translator_options* options, size_t struct_size);

/* Fills the first struct_size bytes of `options` with the defaults for translating. */
TRANSMUTE_API void transmute_translation_options_init(transmute_translation_options* options, size_t struct_size);

/* The defaults for opening a model. */
static inline transmute_translator_options transmute_translator_options_default(void) {
  transmute_translator_options options;
  transmute_translator_options_init(&options, sizeof(options));
  return options;
}

/* The defaults for translating. */
static inline transmute_translation_options transmute_translation_options_default(void) {
  transmute_translation_options options;
  transmute_translation_options_init(&options, sizeof(options));
  return options;
}

/* The version, such as "0.1.0". The string lives as long as the program. */
TRANSMUTE_API const char* transmute_version(void);

/* The kind of the last error in the calling thread: TRANSMUTE_ERROR_… */
TRANSMUTE_API int transmute_error_kind(void);

/* A function for should_stop: `user` must point to an int, and any thread ends the call by making it nonzero. */
TRANSMUTE_API int transmute_is_set(void* flag);

/* Opens a model. `options` may be NULL for the defaults. */
TRANSMUTE_API transmute_translator* transmute_open(const char* model, const transmute_translator_options* options,
                                                   char** error);

/* Fills the first struct_size bytes of `options` with the defaults for translating, and with the search that the
 * model's own files recommend: beam_size, length_alpha, power_length_penalty, no_repeat_ngram and repetition_penalty.
 */
TRANSMUTE_API void transmute_translation_options_of(const transmute_translator* translator,
                                                    transmute_translation_options* options, size_t struct_size);

/* Closes a translator. No call may be in progress. */
TRANSMUTE_API void transmute_close(transmute_translator* translator);

/* Translates `count` texts. `options` may be NULL for those of transmute_translation_options_of(). */
TRANSMUTE_API transmute_result* transmute_translate(const transmute_translator* translator, const char* const* texts,
                                                    size_t count, const transmute_translation_options* options,
                                                    char** error);

/* How a document is read. Fill it with transmute_document_options_default() first. */
typedef struct transmute_document_options {
  size_t struct_size; /* set by the default function */
  const char* format; /* such as "docx", see docs/documents.md; NULL: by the ending of the input's name */
  int retranslate;    /* nonzero: also translate the entries of a catalog that have a translation */
} transmute_document_options;

/* Fills the first struct_size bytes of `options` with the defaults for reading a document. */
TRANSMUTE_API void transmute_document_options_init(transmute_document_options* options, size_t struct_size);

/* The defaults for reading a document. */
static inline transmute_document_options transmute_document_options_default(void) {
  transmute_document_options options;
  transmute_document_options_init(&options, sizeof(options));
  return options;
}

/* Translates a document, such as a Word file, and keeps everything but its text. The output appears under its name when
 * it is complete. `document` may be NULL for the defaults, `options` for those of transmute_translation_options_of();
 * target_prefixes must be NULL, and on_text is not called. Returns nonzero for success. */
TRANSMUTE_API int transmute_translate_document(const transmute_translator* translator, const char* input,
                                               const char* output, const transmute_document_options* document,
                                               const transmute_translation_options* options, char** error);

/* Scores targets[i] as a translation of sources[i]: one hypothesis each, with its tokens and, if requested, its
 * alignment. `options` may be NULL for those of transmute_translation_options_of(). Of the callbacks, only
 * should_stop is called. */
TRANSMUTE_API transmute_result* transmute_score(const transmute_translator* translator, const char* const* sources,
                                                const char* const* targets, size_t count,
                                                const transmute_translation_options* options, char** error);

/* Frees a result and everything that belongs to it. */
TRANSMUTE_API void transmute_result_free(transmute_result* result);

/* Opens a language model, trained with model.architecture: decoder_only. `options` may be NULL for the defaults. */
TRANSMUTE_API transmute_language_model* transmute_open_language_model(const char* model,
                                                                      const transmute_translator_options* options,
                                                                      char** error);

/* Closes a language model. No call may be in progress. */
TRANSMUTE_API void transmute_close_language_model(transmute_language_model* model);

/* Fills the first struct_size bytes of `options` with the defaults for generating text: one sample. Several samples
 * come in the order of their probability, whatever length_alpha is. max_extra_length limits the number of tokens added
 * to the prompt. Options that need a source (target_prefixes, glossary, inline_tags, split_sentences, text_language,
 * source_language, target_language, mbr_candidates, rerank_candidates, guard, protect, long_texts, letter_case,
 * word_alignments), and suppress_sequences, are not available. */
TRANSMUTE_API void transmute_generation_options_init(transmute_translation_options* options, size_t struct_size);

/* The defaults for generating text. */
static inline transmute_translation_options transmute_generation_options_default(void) {
  transmute_translation_options options;
  transmute_generation_options_init(&options, sizeof(options));
  return options;
}

/* Continues `count` prompts; each result begins with its prompt. `options` may be NULL for the defaults. */
TRANSMUTE_API transmute_result* transmute_generate(const transmute_language_model* model, const char* const* prompts,
                                                   size_t count, const transmute_translation_options* options,
                                                   char** error);

/* Scores texts: one hypothesis each, with its tokens. Of the callbacks, only should_stop is called. */
TRANSMUTE_API transmute_result* transmute_score_texts(const transmute_language_model* model, const char* const* texts,
                                                      size_t count, const transmute_translation_options* options,
                                                      char** error);

/* The number of texts in the call.
 *
 * In this function and those below, `text` is the index of a text in the call, `hypothesis` that of one of its
 * translations (0 is the best), and `position` that of a token. An index out of range gives 0 or NULL. Strings and
 * arrays belong to the result. */
TRANSMUTE_API size_t transmute_result_count(const transmute_result* result);

/* Number of hypotheses of a text. */
TRANSMUTE_API size_t transmute_result_hypotheses(const transmute_result* result, size_t text);

/* A hypothesis, detokenized. */
TRANSMUTE_API const char* transmute_result_text(const transmute_result* result, size_t text, size_t hypothesis);

/* The score by which hypotheses are ranked: log P / length penalty, plus coverage_beta times the coverage penalty;
 * with rerank_candidates, plus rerank_weight times the reverse model's log P / length penalty. */
TRANSMUTE_API double transmute_result_score(const transmute_result* result, size_t text, size_t hypothesis);

/* Natural log-probability of a hypothesis, including the end token. */
TRANSMUTE_API double transmute_result_log_probability(const transmute_result* result, size_t text, size_t hypothesis);

/* With rerank_candidates: natural log-probability of the source given a hypothesis, under the reverse model. */
TRANSMUTE_API double transmute_result_reverse_log_probability(const transmute_result* result, size_t text,
                                                              size_t hypothesis);

/* Number of tokens of a source text. */
TRANSMUTE_API size_t transmute_result_source_length(const transmute_result* result, size_t text);

/* A token of a source text. */
TRANSMUTE_API const char* transmute_result_source_token(const transmute_result* result, size_t text, size_t position);

/* Number of tokens of a hypothesis. */
TRANSMUTE_API size_t transmute_result_length(const transmute_result* result, size_t text, size_t hypothesis);

/* A token of a hypothesis. */
TRANSMUTE_API const char* transmute_result_token(const transmute_result* result, size_t text, size_t hypothesis,
                                                 size_t position);

/* Natural log-probability of a token of a hypothesis. */
TRANSMUTE_API double transmute_result_token_score(const transmute_result* result, size_t text, size_t hypothesis,
                                                  size_t position);

/* The attention of a token of the translation to each source token; transmute_result_source_length values. NULL unless
 * requested. */
TRANSMUTE_API const float* transmute_result_alignment(const transmute_result* result, size_t text, size_t hypothesis,
                                                      size_t position);

/* A place of a translation that looks wrong. Begin and end are equal if that text has no such place. */
typedef struct transmute_warning {
  const char* kind;    /* "omission", "length", "number", "address", "placeholder", "emoji", "repetition", "copy",
                          "script" or "bracket" */
  const char* message; /* for people */
  size_t source_begin; /* first byte of the place in the text */
  size_t source_end;   /* the byte after the last */
  size_t target_begin; /* first byte of the place in the best hypothesis */
  size_t target_end;   /* the byte after the last */
} transmute_warning;

/* Number of warnings about the translation of a text. */
TRANSMUTE_API size_t transmute_result_warnings(const transmute_result* result, size_t text);

/* Warning `index` about the translation of a text. Its strings belong to the result; without such a warning they are
 * NULL. */
TRANSMUTE_API transmute_warning transmute_result_warning(const transmute_result* result, size_t text, size_t index);

/* The expected quality of a hypothesis: its sentence chrF against a reference translation, from 0 to 1. Negative if the
 * model was not calibrated when it was trained. */
TRANSMUTE_API double transmute_result_confidence(const transmute_result* result, size_t text, size_t hypothesis);

/* A word of a hypothesis. */
typedef struct transmute_word {
  size_t begin;      /* first byte in the text of the hypothesis */
  size_t end;        /* the byte after the last */
  double confidence; /* probability that a reference translation has the word */
} transmute_word;

/* Number of words of a hypothesis that have confidence: none if the model was not calibrated. Their places are in the
 * text with its tags. */
TRANSMUTE_API size_t transmute_result_words(const transmute_result* result, size_t text, size_t hypothesis);

/* Word `index` of a hypothesis; without such a word, zeros. */
TRANSMUTE_API transmute_word transmute_result_word(const transmute_result* result, size_t text, size_t hypothesis,
                                                   size_t index);

/* A link between a word of a text and one of its translation, both counted from 0. Words are separated by whitespace.
 */
typedef struct transmute_link {
  size_t source; /* word of the text */
  size_t target; /* word of the hypothesis */
} transmute_link;

/* Number of links of a hypothesis; none unless word_alignments requested them. */
TRANSMUTE_API size_t transmute_result_links(const transmute_result* result, size_t text, size_t hypothesis);

/* Link `index` of a hypothesis, in the order of the target; without such a link, zeros. */
TRANSMUTE_API transmute_link transmute_result_link(const transmute_result* result, size_t text, size_t hypothesis,
                                                   size_t index);

/* Number of different words or characters of a text that the vocabulary lacks, at most 100. */
TRANSMUTE_API size_t transmute_result_unknowns(const transmute_result* result, size_t text);

/* Word or character `index` of a text that the vocabulary lacks. */
TRANSMUTE_API const char* transmute_result_unknown(const transmute_result* result, size_t text, size_t index);

/* The tokenizer of a model. */
typedef struct transmute_tokenizer transmute_tokenizer;

/* Tokens, sentences or languages. */
typedef struct transmute_segments transmute_segments;

/* The vocabulary of the source or of the target, which may be one. */
enum { TRANSMUTE_SOURCE = 0, TRANSMUTE_TARGET = 1 };

/* Opens the tokenizer of a model. */
TRANSMUTE_API transmute_tokenizer* transmute_open_tokenizer(const char* model, char** error);

/* The tokenizer of an open model, which it may outlive. */
TRANSMUTE_API transmute_tokenizer* transmute_tokenizer_of(const transmute_translator* translator, char** error);

/* Closes a tokenizer. */
TRANSMUTE_API void transmute_close_tokenizer(transmute_tokenizer* tokenizer);

/* The tokens of a text on one side, without begin and end. An unknown token has the text that it stands for. */
TRANSMUTE_API transmute_segments* transmute_tokenize(const transmute_tokenizer* tokenizer, int side, const char* text,
                                                     char** error);

/* The text of token ids, to be freed with transmute_string_free. */
TRANSMUTE_API char* transmute_detokenize(const transmute_tokenizer* tokenizer, int side, const int64_t* ids,
                                         size_t count, char** error);

/* All tokens of a vocabulary, in the order of their ids. */
TRANSMUTE_API transmute_segments* transmute_vocabulary(const transmute_tokenizer* tokenizer, int side, char** error);

/* The languages of a multilingual vocabulary, as source_language and target_language name them. */
TRANSMUTE_API transmute_segments* transmute_languages(const transmute_tokenizer* tokenizer, char** error);

/* The sentences of a text in `language`, cut as `translator` cuts them. Both may be NULL. */
TRANSMUTE_API transmute_segments* transmute_sentences(const transmute_translator* translator, const char* text,
                                                      const char* language, char** error);

/* A token, a sentence or a language. */
typedef struct transmute_segment {
  const char* text; /* belongs to the segments */
  int64_t id;       /* id of a token; otherwise the index */
  size_t begin;     /* first byte in the text; 0 where there was none */
  size_t end;       /* the byte after the last */
} transmute_segment;

/* Number of segments. */
TRANSMUTE_API size_t transmute_segments_count(const transmute_segments* segments);

/* Segment `index`; without such a segment, zeros. */
TRANSMUTE_API transmute_segment transmute_segments_get(const transmute_segments* segments, size_t index);

/* Frees segments. */
TRANSMUTE_API void transmute_segments_free(transmute_segments* segments);

/* The encoder of a translation model, opened by transmute_open_encoder. */
typedef struct transmute_encoder transmute_encoder;

/* Vectors of texts and of their tokens. */
typedef struct transmute_vectors transmute_vectors;

/* Opens a model for encoding texts. Uses only device, threads and precision of `options`, which may be NULL. */
TRANSMUTE_API transmute_encoder* transmute_open_encoder(const char* model, const transmute_translator_options* options,
                                                        char** error);

/* Closes an encoder. No call may be in progress. */
TRANSMUTE_API void transmute_close_encoder(transmute_encoder* encoder);

/* Number of elements of a vector. */
TRANSMUTE_API size_t transmute_encoder_width(const transmute_encoder* encoder);

/* Encodes `count` texts. Uses only batch_size, batch_tokens, max_source_tokens, the languages and should_stop of
 * `options`, which may be NULL. `token_vectors`: 0 for the means alone. */
TRANSMUTE_API transmute_vectors* transmute_encode(const transmute_encoder* encoder, const char* const* texts,
                                                  size_t count, const transmute_translation_options* options,
                                                  int token_vectors, char** error);

/* The mean of the vectors of a text's tokens, which represents the text. Arrays belong to the vectors. */
TRANSMUTE_API const float* transmute_vectors_mean(const transmute_vectors* vectors, size_t text);

/* Number of tokens of a text. */
TRANSMUTE_API size_t transmute_vectors_length(const transmute_vectors* vectors, size_t text);

/* A token of a text. */
TRANSMUTE_API const char* transmute_vectors_token(const transmute_vectors* vectors, size_t text, size_t position);

/* The vectors of a text's tokens, one after the other; NULL if they were not requested. */
TRANSMUTE_API const float* transmute_vectors_tokens(const transmute_vectors* vectors, size_t text);

/* Frees vectors. */
TRANSMUTE_API void transmute_vectors_free(transmute_vectors* vectors);

/* Options of transmute_evaluate, as the program evaluate has them. */
typedef struct transmute_metric_options {
  size_t struct_size;     /* set by transmute_metric_options_init */
  const char* tokenize;   /* BLEU: "13a", "intl", "zh", "char" or "none"; NULL: 13a */
  const char* smooth;     /* BLEU: "exp", "floor", "add-k" or "none"; NULL: exp */
  double smooth_value;    /* BLEU: parameter of floor or add-k; negative: its default */
  int effective_order;    /* BLEU: nonzero for single sentences */
  int lowercase;          /* nonzero: ignore case, as TER does unless case_sensitive */
  int case_sensitive;     /* TER: nonzero: upper and lower case differ */
  int ter_normalize;      /* TER: nonzero: separate punctuation from words */
  int ter_no_punctuation; /* TER: nonzero: ignore punctuation */
  int ter_asian_support;  /* TER: nonzero: treat each Chinese or Japanese character as a word */
} transmute_metric_options;

/* Fills the first struct_size bytes of `options` with the defaults. */
TRANSMUTE_API void transmute_metric_options_init(transmute_metric_options* options, size_t struct_size);

/* Scores `count` translations with "bleu", "chrf", "chrf++" or "ter". `references` has reference_sets * count texts:
 * the first reference of each translation, then the second of each, and so on. Stores the score in *score, and returns
 * the metric's signature, to be freed with transmute_string_free. `options` may be NULL for the defaults. */
TRANSMUTE_API char* transmute_evaluate(const char* metric, const char* const* hypotheses, size_t count,
                                       const char* const* references, size_t reference_sets,
                                       const transmute_metric_options* options, double* score, char** error);

/* Frees a string that a function has returned or stored as an error. */
TRANSMUTE_API void transmute_string_free(char* string);

#ifdef __cplusplus
}
#endif

#endif /* TRANSMUTE_H */

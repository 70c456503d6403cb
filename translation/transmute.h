/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface of transmute: open a model, translate, or continue text. For every language that can call C.
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
 * Texts are UTF-8 and end with a zero byte. Functions that can fail return NULL and, where `error` is not NULL, set
 * *error to a message for people, to be freed with transmute_string_free; nothing is ever thrown across this border.
 * A translator may be used by many threads at once. A result may be read by many. All free functions take NULL.
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

/* What a call found: translations, continuations or scores. */
typedef struct transmute_result transmute_result;

/* How a model is opened. Fill it by transmute_translator_options_default(), then change what you like. */
typedef struct transmute_translator_options {
  size_t struct_size;    /* set by the default function: lets the library grow the struct */
  const char* device;    /* "cpu", "cuda", "cuda:N" or "auto" */
  int threads;           /* on the CPU, each with a batch of its own; 0: one per core */
  const char* precision; /* of matrix products: "float32", "bfloat16", on CPUs "int8", on GPUs "half"; NULL: as the
                            model is stored */

  const char* const* ensemble; /* further models with the same tokenizer, whose probabilities are averaged */
  size_t ensemble_size;        /* models in `ensemble` */

  const char* shortlist;      /* a table of which target tokens translate which source tokens, or NULL */
  int64_t shortlist_best;     /* translations of each source token at most */
  int64_t shortlist_frequent; /* first tokens of the vocabulary added to each list */
} transmute_translator_options;

/* How texts are translated. Fill it by transmute_translation_options_default(), then change what you like. */
typedef struct transmute_translation_options {
  size_t struct_size;        /* set by the default function */
  int64_t beam_size;         /* 1: greedy search */
  int64_t num_hypotheses;    /* translations of each text, at most beam_size */
  double length_alpha;       /* log P / ((5 + length) / 6)^alpha ranks them */
  int64_t max_extra_length;  /* maximum target length minus source length */
  int alignments;            /* not 0: also transmute_result_alignment */
  int64_t batch_size;        /* texts that a thread decodes together */
  int64_t batch_tokens;      /* and their padded source tokens at most */
  int64_t max_source_tokens; /* longer texts are translated in parts and rejoined */

  /* Called, where not NULL, from the translator's threads, never two at once for one call. */
  void (*on_text)(void* user, size_t text, const char* so_far); /* the certain beginning of a translation, growing */
  void (*on_progress)(void* user, size_t done, size_t total);   /* texts */
  int (*should_stop)(void* user);                               /* not 0 ends the call with the error "cancelled" */
  void* user;                                                   /* handed to the three functions */

  int64_t alignment_layer;  /* of the decoder, from 1; 0: the last */
  int64_t alignment_head;   /* from 1; 0: the mean of all */
  double coverage_beta;     /* weight of the coverage penalty; 0: none */
  int64_t min_length;       /* tokens that a translation has at least */
  int64_t no_repeat_ngram;  /* no n tokens in a row come twice; 0: they may */
  int power_length_penalty; /* not 0: length^length_alpha is the length penalty */

  /* Instead of a search, with num_hypotheses results each. */
  int sample;         /* not 0: draws from the model's distribution */
  double temperature; /* below 1 sharpens it, 0 takes the best token */
  int64_t top_k;      /* only among the k best tokens; 0: all */
  double top_p;       /* only among the fewest best tokens that have this probability together */
  uint64_t seed;      /* the same seed and text give the same draws */
  int alternatives;   /* not 0: the best next tokens after the prefix, each completed greedily */

  const char* const* target_prefixes; /* one for each text, or NULL: how the translations begin */
  const char* const* glossary;        /* source term, target term, source term, target term, … */
  size_t glossary_size;               /* pairs */
  int inline_tags;                    /* not 0: carries <b>, </b>, <br/>, {name} and the like over */
  int split_sentences;                /* not 0: each sentence of a text by itself */

  const char* source_language; /* of models of many languages, or NULL; as the model calls it, e.g. eng_Latn */
  const char* target_language; /* as source_language, e.g. deu_Latn or deu */

  /* Minimum Bayes risk: picks, among this many best translations or samples, the one most like all others; 0: off. */
  int64_t mbr_candidates;
  const char* mbr_utility; /* what tells how like two translations are: "chrf" or "bleu"; NULL: chrf */
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

/* "0.1.0". The string lives as long as the program. */
TRANSMUTE_API const char* transmute_version(void);

/* Opens a model. `options` may be NULL for the defaults. */
TRANSMUTE_API transmute_translator* transmute_open(const char* model, const transmute_translator_options* options,
                                                   char** error);

/* Closes a translator. No call may be under way. */
TRANSMUTE_API void transmute_close(transmute_translator* translator);

/* Translates `count` texts. `options` may be NULL for the defaults. */
TRANSMUTE_API transmute_result* transmute_translate(const transmute_translator* translator, const char* const* texts,
                                                    size_t count, const transmute_translation_options* options,
                                                    char** error);

/* How probable each target is, given the source of the same number: one hypothesis each, with its tokens and, where the
 * options ask for it, alignment. */
TRANSMUTE_API transmute_result* transmute_score(const transmute_translator* translator, const char* const* sources,
                                                const char* const* targets, size_t count,
                                                const transmute_translation_options* options, char** error);

/* Frees a result and everything that belongs to it. */
TRANSMUTE_API void transmute_result_free(transmute_result* result);

/* Opens a language model, trained with model.architecture: decoder_only. `options` may be NULL for the defaults. */
TRANSMUTE_API transmute_language_model* transmute_open_language_model(const char* model,
                                                                      const transmute_translator_options* options,
                                                                      char** error);

/* Closes a language model. No call may be under way. */
TRANSMUTE_API void transmute_close_language_model(transmute_language_model* model);

/* Fills the first struct_size bytes of `options` with the defaults for continuing texts: one continuation is drawn.
 * max_extra_length is how many tokens are added at most. What takes a source, target_prefixes, glossary, inline_tags
 * and split_sentences are not for it. */
TRANSMUTE_API void transmute_generation_options_init(transmute_translation_options* options, size_t struct_size);

/* The defaults for continuing texts. */
static inline transmute_translation_options transmute_generation_options_default(void) {
  transmute_translation_options options;
  transmute_generation_options_init(&options, sizeof(options));
  return options;
}

/* Continues `count` texts; results begin with them. `options` may be NULL for the defaults. */
TRANSMUTE_API transmute_result* transmute_generate(const transmute_language_model* model, const char* const* prompts,
                                                   size_t count, const transmute_translation_options* options,
                                                   char** error);

/* How probable each text is: one hypothesis each, with its tokens. */
TRANSMUTE_API transmute_result* transmute_score_texts(const transmute_language_model* model, const char* const* texts,
                                                      size_t count, const transmute_translation_options* options,
                                                      char** error);

/* Number of texts given.
 *
 * In this function and those below, `text` counts the texts given, `hypothesis` its translations from the best, which
 * is 0, and `position` tokens. Numbers out of range get 0 or NULL. Strings and arrays belong to the result. */
TRANSMUTE_API size_t transmute_result_count(const transmute_result* result);

/* Number of hypotheses of a text. */
TRANSMUTE_API size_t transmute_result_hypotheses(const transmute_result* result, size_t text);

/* A hypothesis, detokenized. */
TRANSMUTE_API const char* transmute_result_text(const transmute_result* result, size_t text, size_t hypothesis);

/* What ranks the hypotheses: log P / length penalty. */
TRANSMUTE_API double transmute_result_score(const transmute_result* result, size_t text, size_t hypothesis);

/* Natural logarithm of the probability of a hypothesis, the end included. */
TRANSMUTE_API double transmute_result_log_probability(const transmute_result* result, size_t text, size_t hypothesis);

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

/* The attention of a token of the translation to each of the source_length tokens of the source, where asked for. */
TRANSMUTE_API const float* transmute_result_alignment(const transmute_result* result, size_t text, size_t hypothesis,
                                                      size_t position);

/* Frees an error message. */
TRANSMUTE_API void transmute_string_free(char* string);

#ifdef __cplusplus
}
#endif

#endif /* TRANSMUTE_H */

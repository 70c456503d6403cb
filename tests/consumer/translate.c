// SPDX-License-Identifier: Apache-2.0
/* The C interface: translate_c MODEL TEXT... prints each translation with its score, then the attention of its first
 * token. What is certain of a translation is streamed to standard error. */

#include <stdio.h>
#include <transmute.h>

static void show(void* user, size_t text, const char* so_far) {
  fprintf((FILE*)user, "%zu: %s\n", text, so_far);
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: translate_c MODEL TEXT...\n");
    return 2;
  }

  char* error = NULL;
  transmute_translator* translator = transmute_open(argv[1], NULL, &error);
  transmute_translation_options options = transmute_translation_options_default();
  options.num_hypotheses = 2;
  options.alignments = 1;
  options.on_text = show;
  options.user = stderr;
  const size_t count = (size_t)argc - 2;
  transmute_result* result =
      translator ? transmute_translate(translator, (const char* const*)argv + 2, count, &options, &error) : NULL;
  if (!result) {
    fprintf(stderr, "translate_c: %s\n", error);
    transmute_string_free(error);
    transmute_close(translator);
    return 1;
  }

  for (size_t text = 0; text < transmute_result_count(result); ++text) {
    for (size_t i = 0; i < transmute_result_hypotheses(result, text); ++i)
      printf("%s\t%.4f\n", transmute_result_text(result, text, i), transmute_result_score(result, text, i));
    const float* attention = transmute_result_alignment(result, text, 0, 0);
    for (size_t s = 0; attention && s < transmute_result_source_length(result, text); ++s)
      printf("%s %s %.3f\n", transmute_result_token(result, text, 0, 0), transmute_result_source_token(result, text, s),
             attention[s]);
  }
  transmute_result_free(result);
  transmute_close(translator);
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* c_interface MODEL INPUT OUTPUT: an application that opens MODEL and writes translations and scores of the lines of INPUT
 * to OUTPUT. What fails is tried once more, since an application lives on: after a failure the same must work. */

#include <stdio.h>
#include <string.h>
#include <transmute/translation/transmute.h>

enum { max_lines = 16, max_line = 1024 };
static char buffer[max_lines][max_line];
static const char* lines[max_lines];

static size_t read_lines(const char* path) {
  FILE* file = fopen(path, "r");
  size_t count = 0;
  if (file == NULL) return 0;
  while (count < max_lines && fgets(buffer[count], max_line, file) != NULL) {
    buffer[count][strcspn(buffer[count], "\n")] = '\0';
    lines[count] = buffer[count];
    ++count;
  }
  fclose(file);
  return count;
}

/* 0 where all went well, 1 after an error with its message, 2 after one without. */
static int translate(const char* model, size_t count) {
  char* error = NULL;
  transmute_result* translations = NULL;
  transmute_result* scores = NULL;
  const char* texts[max_lines];
  int code = 1;
  transmute_translator_options opening = transmute_translator_options_default();
  opening.threads = 2;
  transmute_translation_options options = transmute_translation_options_default();
  options.alignments = 1;
  transmute_translator* translator = transmute_open(model, &opening, &error);
  if (translator != NULL) translations = transmute_translate(translator, lines, count, &options, &error);
  if (translations != NULL) {
    for (size_t i = 0; i < count; ++i) texts[i] = transmute_result_text(translations, i, 0);
    scores = transmute_score(translator, lines, texts, count, NULL, &error);
  }
  if (scores != NULL) {
    for (size_t i = 0; i < count; ++i)
      printf("%s\t%.4f\t%.4f\n", texts[i], transmute_result_score(translations, i, 0),
             transmute_result_log_probability(scores, i, 0));
    code = 0;
  } else if (error != NULL && error[0] != '\0') {
    fprintf(stderr, "c_interface: error: %s\n", error);
  } else {
    code = 2;
  }
  transmute_string_free(error);
  transmute_result_free(scores);
  transmute_result_free(translations);
  transmute_close(translator);
  return code;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: c_interface MODEL INPUT OUTPUT\n");
    return 2;
  }
  const size_t count = read_lines(argv[2]);
  /* As standard output, whose calls never fail. */
  if (count == 0 || freopen(argv[3], "w", stdout) == NULL) {
    fprintf(stderr, "c_interface: error: a file of the test itself cannot be opened\n");
    return 2;
  }
  const int code = translate(argv[1], count);
  if (code == 2) {
    fprintf(stderr, "an error without a message\n");
    return 3;
  }
  if (code == 1 && translate(argv[1], count) != 0) {
    fprintf(stderr, "after an error the library does not work any more\n");
    return 4;
  }
  return code;
}

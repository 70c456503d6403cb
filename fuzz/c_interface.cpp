// SPDX-License-Identifier: Apache-2.0
// The C interface as a sequence of calls, on a tiny model.
#include <transmute/fuzz/fuzz.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/translation/transmute.h>

#include <vector>

using namespace transmute;

namespace {

transmute_translator* open_model() {
  const std::string& folder = fuzz::scratch_folder();
  const Tokenizer tokenizer = testing::tiny_tokenizer();
  save_model_folder(folder, testing::tiny_config(), tokenizer, weights_of(testing::tiny_transformer(tokenizer, 5)));
  transmute_translator_options options;
  transmute_translator_options_init(&options, sizeof(options));
  options.threads = 1;
  options.reverse_model = folder.c_str();  // its two languages share a vocabulary
  transmute_translator* translator = transmute_open(folder.c_str(), &options, nullptr);
  fuzz::require(translator != nullptr);
  return translator;
}

using Options = transmute_translation_options;
// A search takes time in proportion to these: those that are large and allowed become 3.
constexpr int64_t Options::*kSizes[] = {&Options::beam_size, &Options::num_hypotheses, &Options::max_extra_length,
                                        &Options::rerank_candidates};
constexpr int64_t Options::*kIntegers[] = {
    &Options::alignment_layer, &Options::alignment_head, &Options::min_length,   &Options::no_repeat_ngram,
    &Options::top_k,           &Options::batch_size,     &Options::batch_tokens, &Options::max_source_tokens};
constexpr int Options::*kSwitches[] = {&Options::alignments, &Options::sample, &Options::alternatives,
                                       &Options::inline_tags, &Options::split_sentences};
constexpr double Options::*kReals[] = {&Options::length_alpha, &Options::coverage_beta, &Options::temperature,
                                       &Options::top_p, &Options::rerank_weight};

template <class Member, size_t count>
Member one_of(const Member (&members)[count], fuzz::Input& input) {
  return members[input.byte() % count];
}

Options options_from(fuzz::Input& input) {
  Options options;
  transmute_translation_options_init(&options, sizeof(options));
  options.max_extra_length = 3;
  while (input.byte() % 4 != 0) {
    const auto number = input.number<int64_t>();
    const int64_t value = number % 2 == 0 ? static_cast<int8_t>(number) : number;
    switch (input.byte() % 5) {
      case 0:
        options.*one_of(kSizes, input) = value > 20 && value <= 1'000'000 ? 3 : value;
        break;
      case 1:
        options.*one_of(kIntegers, input) = value;
        break;
      case 2:
        options.*one_of(kSwitches, input) = static_cast<int>(value);
        break;
      case 3:
        options.*one_of(kReals, input) = input.number<double>();
        break;
      default:
        options.seed = static_cast<uint64_t>(number);
        break;
    }
  }
  return options;
}

void read(const transmute_result* result, bool given) {
  for (size_t text = 0; text <= transmute_result_count(result); ++text)
    for (size_t h = 0; h <= transmute_result_hypotheses(result, text); ++h) {
      const char* words = transmute_result_text(result, text, h);
      if (words != nullptr && !given) fuzz::require(std::strpbrk(words, "\r\n") == nullptr);
      transmute_result_score(result, text, h);
      transmute_result_log_probability(result, text, h);
      transmute_result_reverse_log_probability(result, text, h);
      const size_t source = transmute_result_source_length(result, text);
      for (size_t s = 0; s <= source; ++s) transmute_result_source_token(result, text, s);
      for (size_t t = 0; t <= transmute_result_length(result, text, h); ++t) {
        transmute_result_token(result, text, h, t);
        transmute_result_token_score(result, text, h, t);
        const float* row = transmute_result_alignment(result, text, h, t);
        for (size_t s = 0; row != nullptr && s < source; ++s) fuzz::require(row[s] >= 0);
      }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static transmute_translator* const translator = open_model();
  fuzz::Input input(data, size);
  while (!input.ended()) {
    const uint8_t call = input.byte();
    const Options options = options_from(input);
    std::vector<std::string> words;
    for (int i = 0; i < call % 3; ++i) words.push_back(input.text());
    std::vector<const char*> texts;
    for (const std::string& text : words) texts.push_back((call & 64) != 0 ? nullptr : text.c_str());
    char* error = nullptr;
    const bool score = (call & 128) != 0;
    transmute_result* result =
        score ? transmute_score(translator, texts.data(), texts.data(), texts.size(), &options, &error)
              : transmute_translate(translator, texts.data(), texts.size(), &options, &error);
    fuzz::require((result == nullptr) == (error != nullptr));
    read(result, score);
    transmute_result_free(result);
    transmute_string_free(error);
  }
  return 0;
}

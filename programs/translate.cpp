// SPDX-License-Identifier: Apache-2.0
// translate: one line in, one line out, or a document. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/memory.h>
#include <transmute/examples/parsing/tree_constraint.h>
#include <transmute/programs/shared/bad_text.h>
#include <transmute/programs/shared/document_run.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/line_output.h>
#include <transmute/programs/shared/line_progress.h>
#include <transmute/programs/shared/prefix_lines.h>
#include <transmute/programs/shared/program.h>
#include <transmute/programs/shared/search_flags.h>
#include <transmute/programs/shared/stream_flags.h>
#include <transmute/programs/shared/translation_totals.h>
#include <transmute/programs/shared/translator_flags.h>
#include <transmute/text/format.h>
#include <transmute/text/glossary.h>
#include <transmute/text/sentence_language.h>
#include <transmute/translation/translator.h>

#include <filesystem>
#include <memory>
#include <utility>

namespace {

enum class Format { text, n_best, json };

struct Arguments {
  transmute::StreamFlags streams;
  std::vector<std::string> texts;  // instead of the input's lines
  std::string prefixes;
  std::string glossary;
  std::string trees, tree_words;
  transmute::TranslatorFlags translator;
  transmute::SearchFlags search;
  transmute::TranslationOptions translation;
  std::string alignment = "none";
  std::string protect = "auto";
  int64_t alignment_layer = 0;
  int64_t alignment_head = 0;
  std::string long_lines = "split", split_sentences = "auto";
  std::string letter_case = "adapt";
  std::string format = "text";
  bool sample = false;
  transmute::SamplingOptions sampling;
  transmute::BufferFlag buffer;
  int64_t num_best = 0;
  int64_t alternatives = 0;
  std::string mbr_utility = "chrf";
  transmute::DocumentFlags document;
  std::string guard = "retry", warnings;
  const CLI::Option* rerank = nullptr;
};

// The tokenizer may have another way of writing a term, which is what translations then contain.
void note_normalized_terms(const std::vector<transmute::GlossaryEntry>& glossary, const std::string& path,
                           const transmute::SubwordModel& target) {
  int64_t terms = 0;
  std::string example;
  for (const transmute::GlossaryEntry& entry : glossary) {
    const std::string written = target.decode(target.encode_within(entry.target));
    if (written == entry.target) continue;
    if (++terms == 1) example = fmt::format("\"{}\" as \"{}\"", entry.target, written);
  }
  if (terms > 0)
    transmute::note(fmt::format("{}: the model's tokenizer writes {} in another way, for example {}", path,
                                transmute::counted(terms, "target term"), example));
}

transmute::SentenceSplitting splitting_from(const std::string& flag) {
  if (flag == "never") return transmute::SentenceSplitting::never;
  return flag == "auto" ? transmute::SentenceSplitting::automatic : transmute::SentenceSplitting::always;
}

transmute::TranslationOptions options_from(const Arguments& arguments, const transmute::Translator& translator) {
  transmute::TranslationOptions options = arguments.translation;
  options.search = arguments.search.options(arguments.sample ? 0 : arguments.num_best, translator.default_search());
  if (arguments.rerank->count() == 0) options.rerank = {};
  if (!arguments.sample) {
    arguments.search.check_beam_holds("--mbr", options.mbr.candidates);
    arguments.search.check_beam_holds("--rerank-candidates", options.rerank.candidates);
  }
  if (arguments.num_best > 0) options.search.num_hypotheses = arguments.num_best;
  if (arguments.alternatives > 0) {
    options.search.alternatives = true;
    options.search.num_hypotheses = arguments.alternatives;
  }
  const bool tokens = arguments.alignment == "tokens";
  options.word_alignments = arguments.alignment != "none" && !tokens;  // of the flag alone too
  options.search.alignments = tokens || (options.word_alignments && arguments.format == "json");
  if (arguments.protect == "all") options.protect = transmute::Protection::all;
  if (arguments.protect == "none") options.protect = transmute::Protection::none;
  if (arguments.alignment_layer > 0 || arguments.alignment_head > 0) {
    options.search.alignment_layer = arguments.alignment_layer;
    options.search.alignment_head = arguments.alignment_head;
  }
  if (arguments.mbr_utility == "bleu") options.mbr.utility = transmute::MbrUtility::bleu;
  if (arguments.guard == "off") options.guard = transmute::Guard::off;
  if (arguments.guard == "warn") options.guard = transmute::Guard::warn;
  options.split_sentences = splitting_from(arguments.split_sentences);
  transmute::check_language("--text-language", options.text_language);
  if (arguments.long_lines == "fail") options.long_texts = transmute::LongTexts::refused;
  if (arguments.letter_case == "keep") options.letter_case = transmute::LetterCase::kept;
  if (arguments.sample) options.search.sampling = arguments.sampling;
  if (!arguments.glossary.empty()) {
    options.glossary = transmute::read_glossary(arguments.glossary, &translator.tokenizer().target());
    note_normalized_terms(options.glossary, arguments.glossary, translator.tokenizer().target());
  }
  return options;
}

Format format_of(const Arguments& arguments) {
  if (arguments.format == "json") return Format::json;
  return arguments.num_best > 0 || arguments.alternatives > 0 ? Format::n_best : Format::text;
}

std::string format(const transmute::Translation& translation, const std::string& source, int64_t line, Format format,
                   const transmute::TranslationOptions& options) {
  if (format == Format::json) return transmute::format_json(translation, line, options.search, source);
  if (format == Format::n_best) return transmute::format_n_best(translation, line, options.search);
  const auto& best = translation.hypotheses.front();
  const bool alignment = options.search.alignments || options.word_alignments;
  return best.text + (alignment ? " ||| " + transmute::format_alignment(best) : "") + "\n";
}

std::string remedy_of_long_lines(const Arguments& arguments) {
  if (arguments.trees.empty())
    return "--long-lines split translates it in parts; the limit is --max-source-tokens or the model's learned "
           "positions";
  return "a tree cannot be put together from parts, so raise --max-source-tokens or, if the model has no learned "
         "positions for more, shorten it";
}

// The block loses a bad line, and those after it.
auto translate_block(const transmute::Translator& translator, std::vector<std::string>& block,
                     transmute::TranslationOptions options, const transmute::TranslationHooks& hooks,
                     const Arguments& arguments) {
  return transmute::results_before_bad_text(block, [&] {
    if (!options.target_prefixes.empty()) options.target_prefixes.resize(block.size());
    try {
      return translator.translate_batch(block, options, hooks);
    } catch (const transmute::TextTooLong& error) {
      throw transmute::TextTooLong(error.text(), error.reason() + "; " + remedy_of_long_lines(arguments));
    }
  });
}

std::shared_ptr<const transmute::NextTokenConstraint> tree_constraint(const Arguments& arguments,
                                                                      const transmute::Tokenizer& tokenizer) {
  transmute::TreeLabels labels;
  const std::vector<std::string> trees = transmute::read_input_lines(arguments.trees);
  const bool has_words = !arguments.tree_words.empty();
  std::vector<std::string> words;
  if (has_words) {
    words = transmute::read_input_lines(arguments.tree_words);
    transmute::check_equal_lines(arguments.tree_words, words.size(), arguments.trees, trees.size(),
                                 "have the words of");
  }
  for (size_t i = 0; i < trees.size(); ++i) {
    try {
      has_words ? labels.add(trees[i], words[i]) : labels.add(trees[i]);
    } catch (const std::invalid_argument& error) {
      const std::string& path = has_words ? arguments.tree_words : arguments.trees;
      throw std::runtime_error(fmt::format("{}:{}: {}", transmute::input_name(path), i + 1, error.what()));
    }
  }
  try {
    return std::make_shared<transmute::TreeConstraint>(tokenizer, labels);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: {}; --trees takes the labels that trees --labels wrote",
                                         transmute::input_name(arguments.trees), error.what()));
  }
}

// The texts of the command line, at once, or the lines of the input.
transmute::BlockSource source_of(const Arguments& arguments) {
  if (arguments.texts.empty())
    return arguments.streams.open(
        [&](std::string_view beginning) { arguments.document.check_is_text(arguments.streams.input, beginning); });
  return [left = arguments.texts](size_t) mutable { return std::exchange(left, {}); };
}

[[noreturn]] void refuse_line(const Arguments& arguments, int64_t number, const std::string& reason) {
  const std::string place = arguments.texts.empty() ? transmute::input_name(arguments.streams.input) + ":" : "text ";
  throw transmute::BadLine(fmt::format("{}{}: {}", place, number, reason));
}

void check_files(const Arguments& arguments) {
  const bool reads_standard_input = arguments.texts.empty() && arguments.streams.input.empty();
  transmute::check_standard_input_once({{"--input", reads_standard_input ? "-" : arguments.streams.input},
                                        {"--trees", arguments.trees},
                                        {"--tree-words", arguments.tree_words}});
  std::vector<transmute::NamedInput> inputs{{"--target-prefix", arguments.prefixes},
                                            {"--glossary", arguments.glossary},
                                            {"--trees", arguments.trees},
                                            {"--tree-words", arguments.tree_words}};
  // Whoever gives the text itself learns that a file is meant.
  for (const auto& [flag, path] : inputs)
    if (std::error_code ignored; !path.empty() && path != "-" && !std::filesystem::exists(path, ignored))
      throw std::invalid_argument(fmt::format("{} names a file, and there is no file {}", flag, path));
  const std::vector<transmute::NamedInput> models = arguments.translator.inputs();
  inputs.insert(inputs.end(), models.begin(), models.end());
  transmute::check_output_is_no_input(arguments.streams.output, inputs);
  if (arguments.warnings.empty()) return;
  if (arguments.guard == "off") throw std::invalid_argument("--warnings has no effect with --guard off");
  inputs.push_back({"--input", arguments.streams.input});
  transmute::check_output_is_no_input(arguments.warnings, inputs, "--warnings");
  if (transmute::place_of(arguments.warnings) == transmute::place_of(arguments.streams.output))
    throw std::invalid_argument("--warnings and --output are both " + arguments.warnings);
}

int translate_document(transmute::DocumentRun& run, const Arguments& arguments) {
  const transmute::Translator translator = arguments.translator.open();
  const transmute::TranslationOptions options = options_from(arguments, translator);
  transmute::warn_if_slow(translator.slow_reason());
  transmute::TranslationTotals totals(options, translator.tokenizer().source(), 0, "text", arguments.warnings);
  run.translate(translator, options, arguments.buffer.lines, totals);
  totals.report();
  return 0;
}

int translate(const Arguments& arguments, const std::vector<std::string>& facts) {
  check_files(arguments);
  if (arguments.texts.empty())
    if (transmute::DocumentRun run(arguments.document, arguments.streams); run.has_document())
      return translate_document(run, arguments);
  const Format as = format_of(arguments);
  const transmute::BlockSource next_block = source_of(arguments);
  const transmute::Translator translator = arguments.translator.open();
  transmute::PrefixLines prefixes(arguments.prefixes, arguments.streams.lines.max_line_bytes,
                                  translator.tokenizer().target());
  transmute::TranslationOptions options = options_from(arguments, translator);
  if (!arguments.trees.empty()) {
    options.search.constraint = tree_constraint(arguments, translator.tokenizer());
    options.search.no_repeat_ngram = 0;  // the model's own: right trees repeat labels
  }
  translator.check(options);  // whether it can be done at all, before the first line arrives
  transmute::warn_if_slow(translator.slow_reason());
  const std::string instead = arguments.warnings.empty() ? "" : " instead of --warnings";  // which it excludes
  transmute::LineOutput output(arguments.streams.output, facts, arguments.streams.resumes,
                               "the same command with --continue" + instead);
  transmute::LineProgress progress(arguments.streams, output.finished_lines());
  transmute::TranslationTotals totals(options, translator.tokenizer().source(), output.finished_lines(), "line",
                                      arguments.warnings);
  transmute::TranslationHooks hooks;
  hooks.on_progress = [&](size_t done, size_t) { progress.show(totals.lines() + static_cast<int64_t>(done)); };
  output.finish_after([&] {
    output.skip_finished(next_block, [&](std::vector<std::string>& block) { prefixes.next(block); });
    while (true) {
      std::vector<std::string> block = next_block(output.next_block_lines(arguments.buffer.lines));
      if (block.empty()) break;
      options.target_prefixes = prefixes.next(block);
      const auto [translations, refusal] = translate_block(translator, block, options, hooks, arguments);
      std::string text;
      for (size_t i = 0; i < translations.size(); ++i) {
        text += format(translations[i], block[i], totals.lines(), as, options);
        totals.add(block[i], translations[i]);
      }
      progress.clear();
      output.write(text, block, block.size());
      if (!refusal.empty()) refuse_line(arguments, totals.lines() + 1, refusal);
      if (!prefixes.fault().empty()) throw transmute::BadLine(prefixes.fault());
    }
    prefixes.finish();
  });
  totals.report();
  return 0;
}

void add_result_flags(CLI::App& app, Arguments& arguments) {
  app.add_option("--format", arguments.format,
                 "text: one translation per line; json: one object per line, with tokens, scores, and the results of "
                 "--n-best and --alignment")
      ->check(transmute::one_of({"text", "json"}))
      ->capture_default_str();
  const auto n_best =
      app.add_option(
             "--n-best", arguments.num_best,
             "print the N best translations (in Moses' format, unless json); if --beam-size is not given, raises it")
          ->check(transmute::whole_between(1, transmute::kMaxHypotheses));
  const auto alternatives = app.add_option("--alternatives", arguments.alternatives,
                                           "instead of searching, take the N most probable next tokens after "
                                           "--target-prefix and complete each greedily; of a line translated in parts, "
                                           "those of the first part")
                                ->check(transmute::whole_between(1, transmute::kMaxHypotheses))
                                ->excludes(n_best);
  const auto mbr = app.add_option("--mbr", arguments.translation.mbr.candidates,
                                  "minimum Bayes risk decoding: of the N best translations (with --sample, of N "
                                  "samples), print the one most similar to all of them, weighted by their "
                                  "probabilities; if --beam-size is not given, raises it")
                       ->check(transmute::whole_between(2, transmute::kMaxCandidates))
                       ->excludes(alternatives);
  app.add_option("--mbr-utility", arguments.mbr_utility, "similarity measure of --mbr")
      ->check(transmute::one_of({"chrf", "bleu"}))
      ->capture_default_str()
      ->needs(mbr);
  app.add_option("--guard", arguments.guard,
                 "translations that look wrong, because words, numbers, addresses, placeholders or emoji are missing, "
                 "words are repeated over and over, the source is copied, or the length or the script is unusual. "
                 "retry: search again for a better one, and count those that remain; warn: only count them (json: with "
                 "their places); off: nothing")
      ->check(transmute::one_of({"off", "warn", "retry"}))
      ->capture_default_str();
  app.add_option("--warnings", arguments.warnings,
                 "write each warning here, of lines and documents, as a line of number, kind, message, source and "
                 "translation, with tabs between")
      ->check(transmute::not_standard_output())
      ->type_name("FILE")
      ->excludes(app.get_option("--continue"));
  app.add_option("--alignment", arguments.alignment,
                 "append word (or token) alignments as \" ||| 0-0 1-2\" (source-target); without a value: words; json "
                 "also gets the attention over tokens")
      ->expected(0, 1)
      ->check(transmute::one_of_or_first({"words", "tokens"}));
  app.add_option("--alignment-layer", arguments.alignment_layer,
                 "decoder layer whose attention aligns words and tags, from 1; 0: the last")
      ->check(transmute::at_least(0))
      ->capture_default_str();
  app.add_option("--alignment-head", arguments.alignment_head,
                 "attention head of that layer, from 1; 0: the mean over the heads. Without layer and head: the head "
                 "that training.guided_alignment trained, if any")
      ->check(transmute::at_least(0))
      ->capture_default_str();
}

void add_search_flags(CLI::App& app, Arguments& arguments) {
  arguments.search.add_to(app);
  app.get_option("--alternatives")->excludes(app.get_option("--beam-size"));
  app.add_option("--target-prefix", arguments.prefixes,
                 "a file whose line n is the beginning of the translation of line n")
      ->type_name("FILE")
      ->group("Search");
  const auto glossary =
      app.add_option(
             "--glossary", arguments.glossary,
             "a file of lines \"source term<tab>target term\"; if a line contains a source term, its translation "
             "will contain the target term")
          ->type_name("FILE")
          ->group("Search");
  const auto trees =
      app.add_option(
             "--trees", arguments.trees,
             "parsing: allow only trees over exactly the words of the input. FILE has the allowed labels: one tree a "
             "line, as `trees --labels` writes them")
          ->type_name("FILE")
          ->excludes(app.get_option("--alternatives"))
          ->excludes(glossary)
          ->group("Search");
  app.add_option(
         "--tree-words", arguments.tree_words,
         "the words that belong to --trees, line by line; a word then gets only the parts of speech it has there "
         "(rare and unknown words: also those of open classes)")
      ->type_name("FILE")
      ->needs(trees)
      ->group("Search");
  arguments.rerank = arguments.translator.add_rerank_to(app, arguments.translation.rerank)
                         ->excludes(app.get_option("--mbr"))
                         ->excludes(app.get_option("--alternatives"));
  arguments.translator.add_shortlist_to(app);
  const auto sample =
      app.add_flag("--sample", arguments.sample,
                   "sample tokens from the model's distribution instead of searching; with --n-best N, draw N samples")
          ->excludes(app.get_option("--beam-size"))
          ->group("Sampling");
  for (CLI::Option* flag : transmute::add_sampling_flags(app, arguments.sampling)) flag->needs(sample);
}

void add_line_flags(CLI::App& app, Arguments& arguments) {
  transmute::TranslationOptions& translation = arguments.translation;
  CLI::Option* const trees = app.get_option("--trees");
  app.get_option("--no-repeat-ngram")->excludes(trees);
  app.add_option(
         "--protect", arguments.protect,
         "placeholders (%s, {0}), accelerators (&File), addresses, paths, identifiers, emoji, markers such as a list's "
         "dash, and words with characters that the vocabulary lacks. all: each comes back as it is, once; auto: "
         "likewise, but for those that the training text taught the model to write; none: the model gets them")
      ->check(transmute::one_of({"auto", "all", "none"}))
      ->capture_default_str();
  app.add_flag("--inline-tags", translation.inline_tags,
               "keep tags such as <b>, </b>, <br/> and placeholders such as {name}, and place them at the "
               "corresponding words; --alignment counts the words without them")
      ->excludes(trees);
  app.add_option(
         "--case", arguments.letter_case,
         "adapt: if the vocabulary needs clearly more pieces for a sentence in capitals or In Title Case than in "
         "ordinary case, translate it in ordinary case, and give the translation the case of the source; keep: "
         "translate it as it is, as "
         "is always done with --trees")
      ->check(transmute::one_of({"adapt", "keep"}))
      ->capture_default_str();
  app.add_option(
         "--split-sentences", arguments.split_sentences,
         "auto: translate the sentences of a line separately, unless the model was trained on lines with several "
         "sentences; always (also without a value); never: translate lines whole")
      ->expected(0, 1)
      ->check(transmute::one_of_or_first({"always", "auto", "never"}))
      ->excludes(trees)
      ->default_str("auto")
      ->group("Long lines");
  app.add_option("--text-language", translation.text_language,
                 "language of the input, such as de, for finding its sentences; by default that of the training text, "
                 "otherwise found out from the words of each line")
      ->group("Long lines");
  app.add_option("--max-source-tokens", translation.max_source_tokens,
                 "a line with more source tokens counts as over-long")
      ->check(transmute::at_least(1))
      ->capture_default_str()
      ->group("Long lines");
  app.add_option("--long-lines", arguments.long_lines,
                 "split: translate over-long lines in parts, cut at sentence, clause or word boundaries; fail: stop at "
                 "the first one, after writing the lines before it, as is always done with --trees")
      ->check(transmute::one_of({"split", "fail"}))
      ->capture_default_str()
      ->group("Long lines");
  transmute::add_batch_flags(app, translation.batch_size, translation.batch_tokens, {"sentences", "source tokens"});
  arguments.buffer.add_to(app);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Translates text line by line, or a document. An empty line stays empty.", "translate");
  app.footer(
      "{} -m runs/demo/model 'Monday, March 3, 2025'\n"
      "echo 'Monday, March 3, 2025' | {} -m runs/demo/model\n"
      "{} -m runs/demo/model -i test.en -o test.de.gz --precision int8\n"
      "{} -m runs/demo/model -i report.docx -o bericht.docx");
  Arguments arguments;
  arguments.translator.add_to(app);
  CLI::Option* const input = arguments.streams.add_to(app);
  CLI::Option* const document = arguments.document.add_to(app);
  arguments.translator.add_texts_to(app, "a text to translate, instead of the input's lines; more texts may follow")
      ->excludes(input)
      ->excludes(document);
  add_result_flags(app, arguments);
  add_search_flags(app, arguments);
  transmute::add_language_flags(app, arguments.translation.source_language, arguments.translation.target_language);
  add_line_flags(app, arguments);
  return transmute::run_program(app, argc, argv, [&] {
    transmute::keep_freed_memory();
    arguments.texts = arguments.translator.texts(arguments.streams.lines.rules());
    arguments.document.check(app);
    return translate(arguments, transmute::run_facts(app));
  });
}

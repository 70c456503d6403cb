// translate: one line in, one line out. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/text_file.h>
#include <transmute/model/threading.h>
#include <transmute/scripts/line_stream.h>
#include <transmute/scripts/program.h>
#include <transmute/translation/translator.h>
#include <unistd.h>

#include <functional>
#include <iostream>
#include <memory>

namespace {

struct Arguments {
  std::string model;
  std::string input;
  std::string output;
  transmute::TranslatorOptions translator;
  std::string precision = transmute::inference_precision_name(transmute::TranslatorOptions{}.precision);
  transmute::TranslationOptions translation;
  int64_t buffer_lines = 4096;
  int64_t num_best = 0;
};

using BlockSource = std::function<std::vector<std::string>(size_t)>;

// Blocks of lines from the input file, or from standard input.
BlockSource open_input(const std::string& path) {
  if (path.empty()) {
    auto stream = std::make_shared<transmute::LineStream>(STDIN_FILENO, "standard input");
    return [stream](size_t most) { return stream->next_block(most); };
  }
  auto reader = std::make_shared<transmute::LineReader>(path);
  return [reader](size_t most) {
    std::vector<std::string> lines;
    for (std::string line; lines.size() < most && reader->next(line);) lines.push_back(line);
    return lines;
  };
}

// Standard output, or a file that gets its name when it is complete.
class Output {
 public:
  explicit Output(const std::string& path) {
    if (!path.empty()) file_ = std::make_unique<transmute::AtomicFile>(path);
  }
  void write(const std::string& text) {
    if (file_) {
      file_->write(text.data(), text.size());
    } else if (!std::cout.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) {
      throw std::runtime_error("standard output cannot be written to (is the disk full?)");
    }
  }
  void finish() {
    if (file_) file_->commit();
  }

 private:
  std::unique_ptr<transmute::AtomicFile> file_;
};

// The best text; or with --n-best Moses' list: number ||| text ||| feature values ||| score.
std::string format(const transmute::Translation& translation, int64_t line, int64_t num_best) {
  if (num_best == 0) return translation.hypotheses.front().text + "\n";
  std::string text;
  for (const auto& hypothesis : translation.hypotheses)
    text += fmt::format("{} ||| {} ||| logprob= {:.6f} ||| {:.6f}\n", line, hypothesis.text, hypothesis.log_probability,
                        hypothesis.score);
  return text;
}

int translate(const Arguments& arguments) {
  transmute::TranslationOptions options = arguments.translation;
  if (arguments.num_best > 0) options.search.num_hypotheses = arguments.num_best;
  if (arguments.buffer_lines < 1) throw std::invalid_argument("--buffer-lines must be at least 1");

  const BlockSource next_block = open_input(arguments.input);
  transmute::TranslatorOptions opening = arguments.translator;
  opening.precision = transmute::inference_precision_from_name(arguments.precision);
  const transmute::Translator translator(arguments.model, opening);
  if (const std::string reason = translator.slow_reason(); !reason.empty())
    std::cerr << "translate: this model runs several times slower on the CPU than others: " << reason << '\n';
  if (const std::string warning = transmute::slow_blas_warning();
      !warning.empty() && !translator.slow_reason().empty())  // else no BLAS is asked
    std::cerr << "translate: " << warning << '\n';
  Output output(arguments.output);
  int64_t lines = 0;
  int64_t split_lines = 0;
  while (true) {
    const std::vector<std::string> block = next_block(static_cast<size_t>(arguments.buffer_lines));
    if (block.empty()) break;
    std::string text;
    for (const auto& translation : translator.translate_batch(block, options)) {
      text += format(translation, lines++, arguments.num_best);
      if (translation.parts > 1) ++split_lines;
    }
    output.write(text);
  }
  output.finish();
  if (split_lines > 0)
    std::cerr << fmt::format("translate: {} of {} lines had over {} tokens and were translated in parts\n", split_lines,
                             lines, options.max_source_tokens);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  transmute::configure_process_for_workers();
  CLI::App app("Translates text, one line in, one line out, in order; an empty line stays empty.", "translate");
  Arguments arguments;
  auto& translation = arguments.translation;
  app.add_option("--model", arguments.model, "a model folder, as train makes it, or a file of export_torchscript")
      ->required();
  app.add_option("--input", arguments.input, "UTF-8 text, plain or gzipped; default: standard input");
  app.add_option("--output", arguments.output, "default: standard output");
  app.add_option("--beam-size", translation.search.beam_size, "hypotheses kept; 1 is greedy search")
      ->capture_default_str();
  app.add_option("--length-alpha", translation.search.length_alpha,
                 "length penalty ((5 + length) / 6)^alpha of the ranking")
      ->capture_default_str();
  app.add_option("--max-extra-length", translation.search.max_extra_length,
                 "a translation has at most so many tokens more than its source")
      ->capture_default_str();
  app.add_option("--n-best", arguments.num_best, "print the N best in Moses' format instead of the best one")
      ->check(CLI::PositiveNumber);
  app.add_option("--batch-size", translation.batch_size, "sentences that a worker decodes together")
      ->capture_default_str();
  app.add_option("--batch-tokens", translation.batch_tokens, "and their padded source tokens at most")
      ->capture_default_str();
  app.add_option("--max-source-tokens", translation.max_source_tokens,
                 "longer lines are translated in parts, cut at sentence, clause or word ends")
      ->capture_default_str();
  app.add_option("--buffer-lines", arguments.buffer_lines, "lines that are read ahead to fill batches")
      ->capture_default_str();
  app.add_option("--device", arguments.translator.device, "cpu, cuda, cuda:N or auto")->capture_default_str();
  app.add_option("--precision", arguments.precision,
                 "of matrix products on the CPU: float32, bfloat16 (half the memory, fast with AVX512-BF16 or AMX) or "
                 "int8 (a quarter, fast with VNNI or AMX)")
      ->capture_default_str();
  app.add_option("--threads", arguments.translator.threads, "workers on the CPU; 0: one per core")
      ->capture_default_str();
  return transmute::run_program(app, argc, argv, [&] { return translate(arguments); });
}

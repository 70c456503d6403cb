// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/help.h>

#include <spdlog/fmt/fmt.h>
#include <sys/ioctl.h>
#include <transmute/common/text_file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <vector>

namespace transmute {

namespace {

constexpr size_t kTextColumn = 26;

// A flag, or a positional argument.
struct FlagHelp {
  std::string group, name, short_name, type, choices, fallback, text;
  bool required = false;
};

size_t terminal_width() {
  constexpr int kLeast = 40, kMost = 120, kUsual = 80;
  int columns = 0;
  if (const char* wanted = std::getenv("COLUMNS")) columns = std::atoi(wanted);
  winsize size{};
  if (columns <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return static_cast<size_t>(columns <= 0 ? kUsual : std::clamp(columns, kLeast, kMost));
}

// Words up to `width`, each but the first indented by `indent` blanks; the first begins at column `column`.
std::string wrapped(const std::string& text, size_t column, size_t indent, size_t width) {
  std::istringstream words(text);
  std::string lines;
  bool first = true;
  for (std::string word; words >> word; first = false) {
    const size_t length = characters_in(word);
    if (!first && column + 1 + length > width) {
      lines += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += length;
  }
  return lines;
}

// "TEXT:{a,b}" has a type and choices.
void read_type(const std::string& type_name, FlagHelp& flag) {
  const size_t open = type_name.find(":{");
  if (open != std::string::npos) flag.choices = type_name.substr(open + 2, type_name.find('}') - open - 2);
  flag.type = type_name.substr(0, type_name.find(':'));
  if (flag.type == "INT" || flag.type == "UINT") flag.type = "N";
  if (flag.type == "FLOAT") flag.type = "NUMBER";
}

FlagHelp describe(const CLI::Option& option) {
  FlagHelp flag;
  const bool positional = option.get_positional();
  flag.group = positional ? "Arguments" : option.get_group();
  if (positional) {
    flag.name = option.get_name(true);
  } else {
    flag.name = "--" + option.get_lnames().front();
    if (!option.get_snames().empty()) flag.short_name = "-" + option.get_snames().front();
  }
  const bool has_value = option.get_type_size() != 0 && option.get_items_expected_max() != 0;
  if (has_value) read_type(option.get_type_name(), flag);
  const bool takes_several = positional ? option.get_items_expected_max() > 1 : option.get_allow_extra_args();
  if (has_value && takes_several) flag.type += "...";
  flag.fallback = option.get_default_str();
  if (flag.fallback.size() > 1 && flag.fallback.front() == '[')
    flag.fallback = flag.fallback.substr(1, flag.fallback.size() - 2);
  flag.required = option.get_required();
  flag.text = option.get_description();
  return flag;
}

std::vector<FlagHelp> flags_of(const CLI::App& app) {
  std::vector<FlagHelp> flags;
  for (const std::string& group : app.get_groups()) {
    if (group.empty()) continue;
    for (const CLI::Option* option : app.get_options())
      if (option->get_group() == group) flags.push_back(describe(*option));
  }
  std::stable_partition(flags.begin(), flags.end(), [](const FlagHelp& flag) { return flag.group == "Arguments"; });
  return flags;
}

std::string usage(const std::string& name, const std::vector<FlagHelp>& flags) {
  std::string text = fmt::format("Usage: {} [OPTION]...", name);
  for (const FlagHelp& flag : flags)
    if (flag.group == "Arguments") text += flag.required ? " " + flag.type : " [" + flag.type + "]";
  return text;
}

std::string flag_lines(const FlagHelp& flag, size_t width) {
  std::string head = "  ";
  if (!flag.short_name.empty()) head += flag.short_name + ", ";
  std::string value = flag.choices;
  std::replace(value.begin(), value.end(), ',', '|');
  if (value.empty()) value = flag.type;
  head += flag.group == "Arguments" ? flag.type : flag.name + (value.empty() ? "" : " " + value);
  std::string text = flag.text;
  if (flag.required) text += " (required)";
  if (!flag.fallback.empty()) text += fmt::format(" (default: {})", flag.fallback);
  if (characters_in(head) + 2 > kTextColumn) {
    head += '\n' + std::string(kTextColumn, ' ');
  } else {
    head += std::string(kTextColumn - characters_in(head), ' ');
  }
  return head + wrapped(text, kTextColumn, kTextColumn, width) + '\n';
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// The footer's lines: {} in them is this program as it was called, {translate} is `translate` called the same way.
std::vector<std::string> examples_of(const CLI::App& app, const std::string& name) {
  const std::string translate = name.substr(0, name.find_last_of(" -") + 1) + "translate";
  std::vector<std::string> examples;
  std::istringstream lines(app.get_footer());
  for (std::string line; std::getline(lines, line);) {
    replace_all(line, "{}", name);
    replace_all(line, "{translate}", translate);
    examples.push_back(line);
  }
  return examples;
}

struct Hint {
  std::vector<std::string_view> words;  // without dashes
  const char* flag;                     // the flag that the program must have
  const char* instead;
};

// The first entry whose flag the program has counts.
const std::vector<Hint>& hints() {
  static const std::vector<Hint> all{
      {{"resume", "continue", "restore", "restore-file", "resume-from-checkpoint", "train-from", "load-checkpoint"},
       "--run-folder",
       "train resumes by itself: run the same command again"},
      {{"epochs", "max-epochs", "max-epoch", "after-epochs", "num-train-epochs", "num-epochs"},
       "--set",
       "did you mean --set training.max_epochs=N?"},
      {{"steps", "max-steps", "train-steps", "max-update", "after-batches", "after", "iterations"},
       "--set",
       "did you mean --set training.max_steps=N?"},
      {{"lr", "learning-rate", "learn-rate"},
       "--set",
       "did you mean --set training.learning_rate_scale=X (with schedule noam) or --set training.learning_rate=X?"},
      {{"warmup", "warmup-steps", "warmup-updates", "lr-warmup"},
       "--set",
       "did you mean --set training.warmup_steps=N?"},
      {{"batch-size", "mini-batch", "mini-batch-words", "max-tokens", "batch"},
       "--set",
       "did you mean --set training.batch_tokens=N?"},
      {{"seed"}, "--set", "did you mean --set training.seed=N?"},
      {{"dropout", "transformer-dropout"}, "--set", "did you mean --set model.dropout=X?"},
      {{"vocab-size", "dim-vocabs"}, "--set", "did you mean --set tokenizer.vocab_size=N?"},
      {{"fp16", "bf16", "half", "amp", "mixed-precision", "precision"},
       "--set",
       "did you mean --set training.precision=bfloat16?"},
      {{"output", "output-dir", "o", "save-dir", "save-model", "model", "m", "model-dir", "out"},
       "--run-folder",
       "did you mean --run-folder?"},
      {{"train-sets", "trainpref", "train-file", "src", "tgt", "input"},
       "--valid-source",
       "did you mean --source and --target?"},
      {{"pairs", "train-pairs", "tsv", "data"},
       "--valid-source",
       "a file of pairs is data.train_pairs of a configuration, or two files: 'cut -f 1' and 'cut -f 2' make them"},
      {{"valid-sets", "validpref", "dev", "valid", "validation-file"},
       "--valid-source",
       "did you mean --valid-source and --valid-target?"},
      {{"gpu", "gpus", "cuda", "use-gpu", "devices", "d", "num-gpus"}, "--device", "did you mean --device cuda?"},
      {{"cpu", "no-cuda", "no-gpu"}, "--device", "did you mean --device cpu?"},
      {{"fp16", "half", "float16", "f16"}, "--precision", "did you mean --precision half (GPUs) or bfloat16?"},
      {{"int8", "quantize", "quantization", "compute-type", "gemm-precision"},
       "--precision",
       "did you mean --precision int8?"},
      {{"text", "sentence", "prompt", "string"}, "TEXT", "give the text itself, without a flag: -m MODEL 'some text'"},
      {{"file", "f", "src", "source", "source-file", "input-file", "s", "in"}, "--input", "did you mean --input?"},
      // The nearest name is --output, which would write over the text.
      {{"input"}, "--pairs", "did you mean --pairs, or --source and --target?"},
      {{"input"}, "--per-token", "did you mean --source and --target, or --text?"},
      {{"input"}, "--text", "did you mean --text?"},
      {{"input"}, "--shortlist-best", "did you mean --source and --target?"},
      {{"input", "inputs", "checkpoints"}, "models", "give the folders themselves, without a flag"},
      {{"out", "tgt", "target", "output-file", "hypotheses"}, "--output", "did you mean --output?"},
      {{"src-lang", "source-lang", "sl", "from", "src-language", "src"},
       "--source-language",
       "did you mean --source-language?"},
      {{"tgt-lang", "target-lang", "tl", "to", "tgt-language", "trg-lang", "tgt"},
       "--target-language",
       "did you mean --target-language?"},
      {{"beam", "beams", "num-beams", "k"}, "--beam-size", "did you mean --beam-size?"},
      {{"nbest", "num-hypotheses", "num-return-sequences", "n"}, "--n-best", "did you mean --n-best?"},
      {{"max-length", "max-decoding-length", "max-len", "max-new-tokens"},
       "--max-extra-length",
       "did you mean --max-extra-length?"},
      {{"normalize", "lenpen", "alpha", "length-penalty", "len-pen"}, "--length-alpha", "did you mean --length-alpha?"},
      {{"workers", "j", "jobs", "cpu-threads", "num-threads", "nthreads", "intra-threads", "num-workers", "cores"},
       "--threads",
       "did you mean --threads?"},
      {{"m", "metrics"}, "--metric", "did you mean --metric?"},
      {{"host", "bind", "ip", "listen", "interface"}, "--port", "did you mean --address?"},
      {{"ssl", "tls", "cert", "ssl-cert", "url-prefix", "prefix"},
       "--behind-proxy",
       "a proxy in front of the server provides TLS and prefixes, see docs/serving.md"},
      {{"char-limit"}, "--max-characters", "did you mean --max-characters?"},
      {{"batch-limit"}, "--max-texts", "did you mean --max-texts?"},
      {{"req-limit"}, "--max-requests-per-client", "did you mean --max-requests-per-client?"},
      {{"load-only", "models", "model-dir"}, "--pivot", "did you mean --model LANGUAGES=MODEL, once for each pair?"},
      {{"v", "verbose", "quiet", "q", "debug", "log-level"},
       "--version",
       "did you mean --version? How much is reported cannot be set"},
      {{"V", "ver"}, "--version", "did you mean --version?"},
      {{"?", "usage", "man"}, "--help", "did you mean --help?"}};
  return all;
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string /*name*/, CLI::AppFormatMode /*mode*/) const {
  const size_t width = terminal_width();
  const std::vector<FlagHelp> flags = flags_of(*app);
  std::string text = usage(app->get_name(), flags) + "\n\n" + wrapped(app->get_description(), 0, 0, width) + '\n';
  std::string group;
  for (const FlagHelp& flag : flags) {
    if (flag.group != group) text += fmt::format("\n{}:\n", flag.group);
    group = flag.group;
    text += flag_lines(flag, width);
  }
  const std::vector<std::string> examples = examples_of(*app, app->get_name());
  if (!examples.empty()) text += "\nExamples:\n";
  for (const std::string& example : examples) text += "  " + example + '\n';
  return text;
}

std::string help_records(const CLI::App& app) {
  std::string records = "about\t" + app.get_description() + '\n';
  for (const FlagHelp& flag : flags_of(app))
    records += fmt::format("option\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", flag.group, flag.name, flag.short_name,
                           flag.type, flag.choices, flag.fallback, flag.required ? "required" : "", flag.text);
  for (const std::string& example : examples_of(app, app.get_name())) records += "example\t" + example + '\n';
  return records;
}

std::string hint_for(const CLI::App& app, const std::string& flag) {
  std::string word = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  std::replace(word.begin(), word.end(), '_', '-');
  for (const Hint& hint : hints())
    if (app.get_option_no_throw(hint.flag) != nullptr &&
        std::find(hint.words.begin(), hint.words.end(), word) != hint.words.end())
      return hint.instead;
  return "";
}

}  // namespace transmute

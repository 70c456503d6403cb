// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/program.h>

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/common/build_info.h>
#include <transmute/common/config_schema.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/kernels/simd/simd.h>
#include <transmute/programs/shared/help.h>
#include <transmute/programs/shared/output.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <map>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

/// The version of LibTorch, in programs that link it (libtorch/device.cpp).
extern "C" __attribute__((weak)) const char* transmute_libtorch_version();

namespace transmute {

namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

std::string called_as;         // name of the program as the user called it
bool flags_are_ended = false;  // by "--"

// Thrown where the command line asks for the records that documentation is made from.
struct RecordsWanted {};

void note_error(const std::string& message) {
  note("error: " + message);
}

int report(const std::exception& error, int code) {
  std::cout.flush();
  note_error(error.what());
  return code;
}

// Names the flags of the program that lower its need for memory, and what LibTorch says, if it is LibTorch's memory.
std::runtime_error no_memory(const CLI::App& app, const std::bad_alloc& error) {
  std::string message = "there is not enough memory", separator = "; smaller values take less: ";
  if (error.what() != std::string_view(std::bad_alloc().what())) message += fmt::format(" ({})", error.what());
  for (const char* flag : {"--threads", "--batch-size", "--batch-tokens", "--max-line-bytes"})
    if (app.get_option_no_throw(flag) != nullptr) message += std::exchange(separator, ", ") + flag;
  return std::runtime_error(message);
}

std::runtime_error unwritable() {
  return std::runtime_error(kUnwritableStandardOutput);
}

// The exit code if the answer, such as --help, was all there was to do.
int answered(int code) {
  return std::cout.flush() ? code : report(unwritable(), kExitFailure);
}

// The last key of --set, where it has no value: the value may be the next word.
std::string key_without_value(const CLI::App& app) {
  const CLI::Option* const set = app.get_option_no_throw("--set");
  if (set == nullptr || set->results().empty()) return "";
  const std::string key = set->results().back();
  return key.find('=') == std::string::npos ? key : "";
}

// A model folder where --model should be, or another path as the first thing after the program.
std::string missing_model(const CLI::App& app, const std::string& message) {
  const CLI::Option* const text = app.get_option_no_throw("TEXT");
  if (text == nullptr || text->results().empty() || message.find("--model") == std::string::npos) return message;
  const std::string& word = text->results().front();
  std::error_code ignored;
  return std::filesystem::exists(word, ignored) ? fmt::format("{}; did you mean --model {}?", message, word) : message;
}

// Returns the word after the first flag that takes a path and has none, preferably a required one, if the word is a
// path. The path of a model may be after its languages: en-de=MODEL.
std::string flag_for_path(const CLI::App& app, const std::string& word) {
  std::error_code ignored;
  const bool is_path = std::filesystem::exists(word, ignored);
  const bool has_languages = !is_path && std::filesystem::exists(word.substr(word.find('=') + 1), ignored);
  if (!is_path && !has_languages) return "";
  const CLI::Option* found = nullptr;
  for (const CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    const bool takes_model = begins_with(type, "MODEL");
    const bool takes_path = is_path && (begins_with(type, "FILE") || begins_with(type, "FOLDER"));
    if (!(takes_path || takes_model) || option->count() > 0 || option->get_lnames().empty()) continue;
    if (found == nullptr || (option->get_required() && !found->get_required())) found = option;
  }
  return found == nullptr ? "" : fmt::format("--{} {}", found->get_lnames().front(), word);
}

// The first word that no flag takes, with the nearest flag where it looks like one.
std::string unexpected_word(const CLI::App& app, const std::string& fallback) {
  const std::vector<std::string> words = app.remaining();
  if (words.empty()) return fallback;
  const std::string word = words.front().substr(0, words.front().find('='));
  if (!begins_with(word, "-")) {
    const std::string ending = std::filesystem::path(words.front()).extension().string();
    const bool is_config = (ending == ".yaml" || ending == ".yml") && app.get_option_no_throw("--config") != nullptr;
    const std::string key = key_without_value(app);
    const std::string meant = !key.empty() ? fmt::format("--set {}={}", key, words.front())
                              : is_config  ? "--config " + words.front()
                                           : flag_for_path(app, words.front());
    const bool takes_no_text =
        app.get_option_no_throw("--input") != nullptr && app.get_option_no_throw("TEXT") == nullptr;
    return fmt::format("unexpected argument '{}'{}", words.front(),
                       !meant.empty()  ? "; did you mean " + meant + "?"
                       : takes_no_text ? "; lines are read from --input FILE or standard input"
                                       : "");
  }
  if (const std::string hint = hint_for(app, word); !hint.empty())
    return fmt::format("unknown flag {}; {}", word, hint);
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  const std::string nearest = nearest_name(word, flags);
  return fmt::format("unknown flag {}{}", word, nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

bool is_repeated(const CLI::App& app, const std::string& flag) {
  const CLI::Option* const option = app.get_option_no_throw(flag);
  return option != nullptr && option->results().size() > 1;
}

// Names the word that was taken for a text, where a flag excludes texts.
std::string excluded_text(const CLI::App& app, const std::string& message) {
  const std::string excludes_text = " excludes TEXT";
  const CLI::Option* const text = app.get_option_no_throw("TEXT");
  if (text == nullptr || text->results().empty() || message.size() < excludes_text.size() ||
      message.compare(message.size() - excludes_text.size(), std::string::npos, excludes_text) != 0)
    return message;
  return fmt::format("{} excludes texts without a flag, such as '{}'",
                     message.substr(0, message.size() - excludes_text.size()), text->results().front());
}

// Replaces CLI11's messages that do not name what was typed.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const std::string message = error.what();
  const bool is_unexpected = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool may_be_misspelled = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr ||
                                 dynamic_cast<const CLI::RequiresError*>(&error) != nullptr ||
                                 dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr;
  if (is_unexpected || may_be_misspelled) return unexpected_word(app, missing_model(app, excluded_text(app, message)));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string flag = message.substr(0, message.find(':'));
    return flag + (is_repeated(app, flag) ? " is given more than once" : " needs a value");
  }
  const std::string no_conversion = "Could not convert: ";
  if (!begins_with(message, no_conversion)) return message;
  const size_t equals = message.find(" = ");
  if (equals == std::string::npos) return message;
  return fmt::format("{}: needs a number, not '{}'",
                     message.substr(no_conversion.size(), equals - no_conversion.size()), message.substr(equals + 3));
}

// The library's message about an option, "beam_size must …", in the words of the command line.
std::string with_flag(const CLI::App& app, const std::string& message) {
  const size_t end = message.find(' ');
  if (end == std::string::npos) return message;
  std::string flag = "--" + message.substr(0, end);
  std::replace(flag.begin(), flag.end(), '_', '-');
  const std::string rest = message.substr(end);
  const bool speaks_of_it =
      begins_with(rest, " must ") || begins_with(rest, " cannot ") || begins_with(rest, " needs ");
  return speaks_of_it && app.get_option_no_throw(flag) != nullptr ? flag + rest : message;
}

// The name of a file is not empty, as a variable of the shell that is not set would make it.
void refuse_empty_names(CLI::App& app) {
  const std::map<std::string, std::string> kinds{{"FILE", "file"}, {"FOLDER", "folder"}, {"PATH", "folder or file"}};
  for (CLI::Option* const option : app.get_options({}))
    if (const auto kind = kinds.find(option->get_type_name()); kind != kinds.end())
      option->check(CLI::Validator(
          [name = kind->second](std::string& text) { return text.empty() ? "needs the name of a " + name : ""; }, ""));
}

// A descriptor that was closed before the start would be that of the next file that is opened, and messages would go
// into it. In the wrong direction, so that reading or writing it is still an error.
void keep_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

}  // namespace

int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body) {
  keep_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of write(), after which nothing is left behind
  called_as = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : app.get_name();
  flags_are_ended = std::any_of(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
  const std::string own_name = app.get_name();
  app.name(called_as);
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag(
      "--version", [&] { return version_text(own_name); },
      "print the version, with the revision and the instruction set");
  refuse_empty_names(app);
  app.add_flag_callback("--help-records", [] { throw RecordsWanted(); })->group("")->trigger_on_parse();
  try {
    app.parse(argc, argv);
  } catch (const RecordsWanted&) {
    std::cout << help_records(app);
    return answered(0);
  } catch (const CLI::Success& answer) {
    return answered(app.exit(answer));
  } catch (const CLI::ParseError& error) {
    note_error(usage_message(app, error));
    std::cerr << "Run '" << called_as << " --help' for the options.\n";
    return kExitUsage;
  }
  try {
    const int code = body();
    if (!std::cout.flush()) throw unwritable();
    return code;
  } catch (const std::invalid_argument& error) {
    return report(std::invalid_argument(with_flag(app, error.what())), kExitUsage);
  } catch (const std::bad_alloc& error) {
    return report(no_memory(app, error), kExitFailure);
  } catch (const std::exception& error) {
    return report(error, kExitFailure);
  }
}

const std::string& program_name() {
  return called_as;
}

bool has_end_of_flags() {
  return flags_are_ended;
}

void note(const std::string& text) {
  std::cerr << called_as << ": " << without_control(text) << '\n';
}

std::string version_text(const std::string& program) {
  const std::string name = program == "transmute" ? program : program + " (transmute)";
  const std::string libtorch =
      transmute_libtorch_version == nullptr ? "" : fmt::format("LibTorch {}\n", transmute_libtorch_version());
  return fmt::format("{} {}\n{}CPU kernels: {}", name, build_version(), libtorch,
                     kernels::simd_name(kernels::active_simd()));
}

}  // namespace transmute

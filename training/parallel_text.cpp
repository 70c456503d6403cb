#include <transmute/training/parallel_text.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>

#include <memory>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kLinesPerBlock = 1 << 15;
constexpr size_t kLinesPerPiece = 256;

struct Pair {
  std::string source_text, target_text;
  Ids source, target;
};

// Goes through two aligned files; at the end checks that both have ended.
class PairReader {
 public:
  PairReader(const std::string& source, const std::string& target)
      : source_path_(source), target_path_(target), source_(source), target_(target) {}

  bool next(Pair& pair) {
    const bool has_source = source_.next(pair.source_text);
    const bool has_target = target_.next(pair.target_text);
    if (has_source != has_target) report_unequal();
    return has_source;
  }

 private:
  [[noreturn]] void report_unequal() {
    std::string line;
    while (source_.next(line)) {
    }
    while (target_.next(line)) {
    }
    throw std::runtime_error(
        fmt::format("{} has {} lines, but {} has {}; line n of one must translate line n of the other", source_path_,
                    source_.line_number(), target_path_, target_.line_number()));
  }

  std::string source_path_, target_path_;
  LineReader source_, target_;
};

void keep_or_count(const Pair& pair, const LengthLimits& limits, LoadedText& loaded) {
  if (pair.source.empty() || pair.target.empty()) {
    ++loaded.left_out.empty;
  } else if (static_cast<int64_t>(pair.source.size()) > limits.source_tokens) {
    ++loaded.left_out.long_source;
  } else if (static_cast<int64_t>(pair.target.size()) > limits.target_tokens) {
    ++loaded.left_out.long_target;
  } else {
    loaded.text.source.add(pair.source);
    loaded.text.target.add(pair.target);
  }
}

}  // namespace

void TokenLists::add(const Ids& ids) {
  tokens_.insert(tokens_.end(), ids.begin(), ids.end());
  ends_.push_back(tokens_.size());
}

LoadedText load_parallel_text(const TextFiles& files, const Tokenizer& tokenizer, const LengthLimits& limits,
                              WorkerCrew& workers) {
  if (files.source.empty() || files.source.size() != files.target.size())
    throw std::invalid_argument(fmt::format("parallel text of {} source files and {} target files; name both in pairs",
                                            files.source.size(), files.target.size()));
  LoadedText loaded;
  std::vector<Pair> block(kLinesPerBlock);
  for (size_t file = 0; file < files.source.size(); ++file) {
    PairReader reader(files.source[file], files.target[file]);
    for (bool more = true; more;) {
      size_t count = 0;
      while (count < block.size() && (more = reader.next(block[count]))) ++count;
      workers.for_each_piece(count, kLinesPerPiece, [&](size_t begin, size_t end, int) {
        for (size_t i = begin; i < end; ++i) {
          block[i].source = tokenizer.source().encode(block[i].source_text);
          block[i].target = tokenizer.target().encode(block[i].target_text);
        }
      });
      for (size_t i = 0; i < count; ++i) keep_or_count(block[i], limits, loaded);
    }
  }
  if (loaded.text.size() == 0) {
    const LeftOut& out = loaded.left_out;
    throw std::runtime_error(
        fmt::format("{} and {}: no usable sentence pair ({} empty, {} with a source over {} tokens, {} with "
                    "a target over {})",
                    files.source.front(), files.target.front(), out.empty, out.long_source, limits.source_tokens,
                    out.long_target, limits.target_tokens));
  }
  return loaded;
}

LineSource lines_of(const std::vector<std::string>& paths) {
  struct State {
    std::vector<std::string> paths;
    size_t next = 0;
    std::unique_ptr<LineReader> reader;
  };
  auto state = std::make_shared<State>();
  state->paths = paths;
  return [state](std::string& line) {
    while (true) {
      if (state->reader && state->reader->next(line)) return true;
      if (state->next == state->paths.size()) return false;
      state->reader = std::make_unique<LineReader>(state->paths[state->next++]);
    }
  };
}

}  // namespace v0
}  // namespace transmute

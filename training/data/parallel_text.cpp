// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/data/parallel_text.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/progress.h>
#include <transmute/common/text_file.h>
#include <transmute/training/data/language_pairs.h>
#include <transmute/training/data/word_links.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kLinesPerChunk = 1024;

struct Pair {
  AlignedLine line;
  TokenizedPair tokens;
};

enum class Sides { target, both };

// The counter for the reason why a pair is left out; null if it is kept.
int64_t* reason_against(const TokenizedPair& pair, Sides sides, const LengthLimits& limits, LeftOut& left_out) {
  const bool lacks_source = pair.source.empty() && sides == Sides::both;
  if (lacks_source || pair.target.empty()) return &left_out.empty;
  if (static_cast<int64_t>(pair.source.size()) > limits.source_tokens) return &left_out.long_source;
  if (static_cast<int64_t>(pair.target.size()) > limits.target_tokens) return &left_out.long_target;
  const auto [shorter, longer] = std::minmax({pair.source.size(), pair.target.size()});
  if (limits.ratio > 0 && sides == Sides::both &&
      static_cast<double>(longer) > limits.ratio * static_cast<double>(shorter))
    return &left_out.unequal;
  return nullptr;
}

// The tag that precedes the sources of the files; empty if the text has one language pair.
std::optional<int64_t> tag_of(const AlignedFiles& files, const Tokenizer& tokenizer) {
  if (files.language.empty()) return {};
  const SubwordModel& source = tokenizer.source();
  if (source.languages() != LanguagePieces::tags)
    throw std::invalid_argument(fmt::format(
        "data.train_languages needs a vocabulary with tags such as {}, which this one lacks; leave out the vocabulary "
        "in the run folder or training.initialize_from, so that one is learned",
        language_tag(files.language)));
  try {
    return source.language(files.language);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("data.train_languages or data.valid_languages: {}", error.what()));
  }
}

// Puts the tag before a source that has content.
void put_before(int64_t tag, TokenizedPair& pair) {
  if (pair.source.empty()) return;
  pair.source.insert(pair.source.begin(), tag);
  for (size_t i = 1; i < pair.links.size(); i += 2) ++pair.links[i];
}

void tokenize(Pair& pair, const AlignedFiles& files, const Tokenizer& tokenizer, const LengthLimits& limits) {
  if (files.alignment.empty()) {
    if (!files.source.empty()) pair.tokens.source = tokenizer.source().encode(pair.line.source);
    pair.tokens.target = tokenizer.target().encode(pair.line.target);
    return;
  }
  SegmentedText source = tokenizer.source().segment(pair.line.source);
  SegmentedText target = tokenizer.target().segment(pair.line.target);
  pair.tokens.source = std::move(source.ids);
  pair.tokens.target = std::move(target.ids);
  if (!is_usable(pair.tokens, limits)) {
    // Two long words would have more links than fit into memory. Without pieces, only the alignment's notation is
    // checked.
    source.spans.clear();
    target.spans.clear();
  }
  try {
    pair.tokens.links = piece_links(parse_word_links(pair.line.alignment), {pair.line.source, source.spans},
                                    {pair.line.target, target.spans});
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}:{}: {}", files.alignment, pair.line.number, error.what()));
  }
}

// Lets workers finish numbered tasks in order. After a failure nobody waits.
class Turns {
 public:
  // Calls `task` after all tasks with lower numbers have ended. Returns false after a failure.
  bool take(size_t number, const std::function<void()>& task) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return failed_ || next_ == number; });
    if (failed_) return false;
    task();
    ++next_;
    changed_.notify_all();
    return true;
  }

  void fail() {
    const std::lock_guard<std::mutex> lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t next_ = 0;
  bool failed_ = false;
};

}  // namespace

void LeftOut::add(const LeftOut& other) {
  empty += other.empty;
  long_source += other.long_source;
  long_target += other.long_target;
  unequal += other.unequal;
}

bool TextFileReader::next(std::string& line) {
  if (!reader_.next(line)) return false;
  if (!file_.column) return true;
  size_t begin = 0;
  for (size_t column = 0; column < *file_.column; ++column) {
    begin = line.find('\t', begin);
    if (begin == std::string::npos)
      throw std::runtime_error(fmt::format("{}:{}: a line must be source<tab>target; this one has {}", file_.path,
                                           reader_.line_number(), column == 0 ? "no tab" : "too few tabs"));
    ++begin;
  }
  line = line.substr(begin, line.find('\t', begin) - begin);
  return true;
}

AlignedFilesReader::AlignedFilesReader(const AlignedFiles& files) : files_(files), target_(files.target) {
  if (!files.source.empty()) source_.emplace(files.source);
  if (!files.alignment.empty()) alignment_.emplace(files.alignment);
}

bool AlignedFilesReader::next(AlignedLine& line) {
  const bool has_source = source_ && source_->next(line.source);
  const bool has_target = target_.next(line.target);
  if (source_ && has_source != has_target) refuse(files_.target.path, target_, "translate line");
  if (alignment_ && alignment_->next(line.alignment) != has_target)
    refuse(files_.alignment, *alignment_, "align the words of line");
  line.number = target_.line_number();
  return has_target;
}

void AlignedFilesReader::refuse(const std::string& other_path, TextFileReader& other, const char* does) {
  for (TextFileReader* reader : {&*source_, &other})  // reads to the ends of the files, to count the lines
    for (std::string line; reader->next(line);) continue;
  refuse_unequal_lines(files_.source.path, source_->line_number(), other_path, other.line_number(), does);
}

void refuse_unequal_lines(const std::string& source, int64_t source_lines, const std::string& other,
                          int64_t other_lines, const char* does) {
  throw std::runtime_error(fmt::format("{} has {}, but {} has {}; line n of one must {} n of the other", source,
                                       counted(source_lines, "line"), other, format_count(other_lines), does));
}

bool is_usable(const TokenizedPair& pair, const LengthLimits& limits) {
  LeftOut uncounted;
  return reason_against(pair, Sides::both, limits, uncounted) == nullptr;
}

LeftOut tokenize_files(const AlignedFiles& files, const Tokenizer& tokenizer, const LengthLimits& limits,
                       WorkerCrew& workers, const std::function<void(const TokenizedPair&)>& take) {
  AlignedFilesReader reader(files);
  const std::optional<int64_t> tag = tag_of(files, tokenizer);
  const Sides sides = files.source.empty() ? Sides::target : Sides::both;
  std::mutex reading;
  size_t chunks = 0;
  bool ended = false;
  Turns turns;
  LeftOut left_out;
  workers.run([&](int) {
    std::vector<Pair> chunk(kLinesPerChunk);
    const auto read_chunk = [&](size_t& number) {
      const std::lock_guard<std::mutex> lock(reading);
      size_t count = 0;
      number = chunks++;
      while (!ended && count < chunk.size()) {
        ended = true;  // remains set if the reader throws
        ended = !reader.next(chunk[count].line);
        if (!ended) ++count;
      }
      return count;
    };
    try {
      size_t number = 0;
      while (const size_t count = read_chunk(number)) {
        for (size_t i = 0; i < count; ++i) {
          tokenize(chunk[i], files, tokenizer, limits);
          if (tag) put_before(*tag, chunk[i].tokens);
        }
        const bool taken = turns.take(number, [&] {
          for (size_t i = 0; i < count; ++i) {
            if (int64_t* reason = reason_against(chunk[i].tokens, sides, limits, left_out)) {
              ++*reason;
            } else {
              take(chunk[i].tokens);
            }
          }
        });
        if (!taken) return;
      }
    } catch (...) {
      turns.fail();
      throw;
    }
  });
  return left_out;
}

LoadedText load_parallel_text(const TextFiles& files, const Tokenizer& tokenizer, const LengthLimits& limits,
                              WorkerCrew& workers) {
  const bool plain = files.source.empty();
  if (files.target.empty() || (!plain && files.source.size() != files.target.size()))
    throw std::invalid_argument(fmt::format("parallel text of {} source files and {} target files; name both in pairs",
                                            files.source.size(), files.target.size()));
  LoadedText loaded;
  for (size_t file = 0; file < files.target.size(); ++file)
    loaded.left_out.add(tokenize_files(
        {plain ? TextFile() : files.source[file], files.target[file], {}, target_of(files.languages_of(file))},
        tokenizer, limits, workers, [&](const TokenizedPair& pair) {
          loaded.text.source.add(pair.source);
          loaded.text.target.add(pair.target);
        }));
  if (loaded.text.size() == 0) refuse_empty_text(files, loaded.left_out, limits);
  return loaded;
}

void refuse_empty_text(const TextFiles& files, const LeftOut& left_out, const LengthLimits& limits) {
  if (files.source.empty())
    throw std::runtime_error(
        fmt::format("{}: no usable line ({} empty, {} of over {} tokens); the limit is data.max_target_tokens",
                    files.target.front().path, left_out.empty, left_out.long_target, limits.target_tokens));
  throw std::runtime_error(
      fmt::format("{} and {}: no usable sentence pair ({} empty, {} with a source over {} tokens, {} with "
                  "a target over {}, {} with too unequal sides); the limits are data.max_source_tokens, "
                  "data.max_target_tokens and data.max_length_ratio",
                  files.source.front().path, files.target.front().path, left_out.empty, left_out.long_source,
                  limits.source_tokens, left_out.long_target, limits.target_tokens, left_out.unequal));
}

LineSource lines_of(const std::vector<TextFile>& files) {
  struct State {
    std::vector<TextFile> files;
    size_t next = 0;
    std::unique_ptr<TextFileReader> reader;
  };
  auto state = std::make_shared<State>();
  state->files = files;
  return [state](std::string& line) {
    while (true) {
      if (state->reader && state->reader->next(line)) return true;
      if (state->next == state->files.size()) return false;
      state->reader = std::make_unique<TextFileReader>(state->files[state->next++]);
    }
  };
}

}  // namespace v0
}  // namespace transmute

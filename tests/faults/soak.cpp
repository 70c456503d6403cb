// SPDX-License-Identifier: Apache-2.0
// Translates a large text through the library, from eight threads, in calls of 1 to 100 lines, and compares each line
// with what `translate` made of it.
//
//     soak MODEL SOURCE TRANSLATION PRECISION [THREADS]

#include <transmute/translation/translator.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

/// Resident memory of this process in MB, as Linux counts it.
double resident_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::stod(line.substr(6)) / 1024;
  return 0;
}

/// The two files, line by line, for many threads.
class Pairs {
 public:
  Pairs(const std::string& source, const std::string& translation) : source_(source), translation_(translation) {
    if (!source_ || !translation_) throw std::runtime_error("a text cannot be opened");
  }

  /// At most `count` pairs, appended; false at the end.
  bool next(size_t count, std::vector<std::string>& sources, std::vector<std::string>& translations) {
    const std::lock_guard lock(mutex_);
    std::string source, translation;
    for (size_t i = 0; i < count; ++i) {
      const bool more = static_cast<bool>(std::getline(source_, source));
      if (static_cast<bool>(std::getline(translation_, translation)) != more)
        throw std::runtime_error("the texts have different numbers of lines");
      if (!more) break;
      sources.push_back(source);
      translations.push_back(translation);
    }
    read_ += sources.size();
    if (read_ >= report_) {
      std::printf("soak: %zu lines, %.1f MB\n", read_, resident_mb());
      std::fflush(stdout);
      report_ += 250000;
    }
    return !sources.empty();
  }
  size_t read() const { return read_; }

 private:
  std::ifstream source_, translation_;
  std::mutex mutex_;
  size_t read_ = 0, report_ = 250000;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5) {
    std::cerr << "usage: soak MODEL SOURCE TRANSLATION PRECISION [THREADS]\n";
    return 2;
  }
  transmute::TranslatorOptions options;
  options.precision = transmute::precision_from_name(argv[4]);
  const transmute::Translator translator(argv[1], options);
  transmute::TranslationOptions greedy;
  greedy.search.beam_size = 1;

  Pairs pairs(argv[2], argv[3]);
  std::atomic<size_t> wrong{0};
  std::vector<std::thread> threads;
  std::atomic<bool> failed{false};
  const int count = argc > 5 ? std::stoi(argv[5]) : 8;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      try {
        std::mt19937 random(static_cast<unsigned>(i));
        std::vector<std::string> sources, expected;
        while (pairs.next(1 + random() % 100, sources, expected)) {
          const auto results = translator.translate_batch(sources, greedy);
          if (results.size() != sources.size()) throw std::runtime_error("lines are lost");
          for (size_t line = 0; line < sources.size(); ++line)
            if (results[line].hypotheses.at(0).text != expected[line] && ++wrong <= 10)
              std::cerr << "soak: error: \"" << sources[line].substr(0, 200) << "\" gives \""
                        << results[line].hypotheses[0].text.substr(0, 200) << "\" instead of \""
                        << expected[line].substr(0, 200) << "\"\n";
          sources.clear();
          expected.clear();
        }
      } catch (const std::exception& error) {
        std::cerr << "soak: error: " << error.what() << '\n';
        failed = true;
      }
    });
  for (auto& thread : threads) thread.join();
  std::printf("soak: %zu lines from %d threads, %zu of them other than translate's, %.1f MB\n", pairs.read(), count,
              wrong.load(), resident_mb());
  return failed || wrong > 0 ? 1 : 0;
} catch (const std::exception& error) {
  std::cerr << "soak: error: " << error.what() << '\n';
  return 1;
}

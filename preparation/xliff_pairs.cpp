// SPDX-License-Identifier: Apache-2.0
// XLIFF 1.2, 2.0 and 2.1 (ISO 21720).
#include <spdlog/fmt/fmt.h>
#include <transmute/preparation/pair_reader.h>
#include <transmute/preparation/xml_units.h>

#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

class XliffPairs : public PairReader {
 public:
  XliffPairs(const std::string& path, const PairReaderOptions& options)
      : path_(path),
        options_(options),
        units_(path, "xliff", {"trans-unit", "unit"},
               [this](std::string_view name, std::string_view tag) { read_languages(name, tag); }) {}

  bool next(TextPair& pair) override {
    while (next_ == pairs_.size()) {
      pairs_.clear();
      next_ = 0;
      if (!units_.next(unit_)) return false;
      read_unit();
    }
    pair = std::move(pairs_[next_++]);
    return true;
  }

 private:
  // The languages of what follows: those of a <file> in XLIFF 1, of the whole in XLIFF 2.
  void read_languages(std::string_view name, std::string_view tag) {
    const bool is_file = name == "file";
    if (!is_file && name != "xliff") return;
    const std::string source(xml_attribute(tag, is_file ? "source-language" : "srcLang"));
    const std::string target(xml_attribute(tag, is_file ? "target-language" : "trgLang"));
    const auto fits = [](const std::string& language, const std::string& wanted) {
      return language.empty() || wanted.empty() || is_language(language, wanted);
    };
    is_reversed_ = false;
    if (fits(source, options_.source_language) && fits(target, options_.target_language)) return;
    is_reversed_ = fits(source, options_.target_language) && fits(target, options_.source_language);
    if (!is_reversed_)
      throw std::runtime_error(
          fmt::format("{}: translates {} into {}, which are not the languages of --source-language and "
                      "--target-language",
                      path_, source, target));
  }

  void read_unit() {
    const std::vector<XmlToken> tokens = xml_tokens(unit_, units_.place());
    if (tokens.front().local_name() == "trans-unit") return read_segment(tokens, 0);
    for (size_t i = 1; i < tokens.size(); ++i)
      if (tokens[i].kind == XmlToken::Kind::start && tokens[i].local_name() == "segment") read_segment(tokens, i);
  }

  void read_segment(const std::vector<XmlToken>& tokens, size_t segment) {
    size_t source = 0, target = 0;
    for (size_t i = segment + 1; i < tokens[segment].partner; ++i) {
      if (tokens[i].kind != XmlToken::Kind::start) continue;
      if (tokens[i].local_name() == "source") source = i;
      if (tokens[i].local_name() == "target") target = i;
      i = tokens[i].partner;  // proposals have targets too
    }
    TextPair pair;
    if (source > 0 && target > 0 && !is_unfinished(tokens[segment]) && !is_unfinished(tokens[target]))
      pair = {text_within(unit_, tokens, source), text_within(unit_, tokens, target)};
    if (pair.target.empty()) {
      ++untranslated_;
      return;
    }
    if (is_reversed_) std::swap(pair.source, pair.target);
    pairs_.push_back(std::move(pair));
  }

  // True if the state of a segment or a target says that the translation is not one yet.
  bool is_unfinished(const XmlToken& token) const {
    const std::string_view state = xml_attribute(token.in(unit_), "state");
    return state == "initial" || state == "new" || state == "needs-translation";
  }

  std::string path_;
  PairReaderOptions options_;
  bool is_reversed_ = false;
  XmlUnits units_;
  std::string unit_;
  std::vector<TextPair> pairs_;  // pairs of the unit
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<PairReader> open_xliff_pairs(const std::string& path, const PairReaderOptions& options) {
  return std::make_unique<XliffPairs>(path, options);
}

}  // namespace v0
}  // namespace transmute

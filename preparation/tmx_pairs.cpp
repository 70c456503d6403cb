// SPDX-License-Identifier: Apache-2.0
// Translation Memory eXchange 1.1 to 1.4.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/ascii_case.h>
#include <transmute/preparation/pair_reader.h>
#include <transmute/preparation/xml_units.h>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// A text of a translation unit.
struct TmxVariant {
  std::string language, text;
};

class TmxPairs : public PairReader {
 public:
  TmxPairs(const std::string& path, const PairReaderOptions& options)
      : path_(path),
        source_(options.source_language),
        target_(options.target_language),
        units_(path, "tmx", {"tu"}, [this](std::string_view name, std::string_view tag) {
          if (name == "header") header_language_ = xml_attribute(tag, "srclang");
        }) {}

  bool next(TextPair& pair) override {
    while (units_.next(unit_)) {
      const std::vector<TmxVariant> variants = read_variants();
      if (source_.empty() || target_.empty()) choose_languages(variants);
      const auto source = find(variants, source_), target = find(variants, target_);
      if (source != variants.end() && target != variants.end() && source != target) {
        has_pairs_ = true;
        pair = {source->text, target->text};
        return true;
      }
      pass_over(variants);
    }
    if (!has_pairs_ && other_languages_ > 0) refuse_languages();
    return false;
  }

 private:
  using Variants = std::vector<TmxVariant>;

  Variants read_variants() const {
    const std::vector<XmlToken> tokens = xml_tokens(unit_, units_.place());
    Variants variants;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].kind != XmlToken::Kind::start || tokens[i].local_name() != "tuv") continue;
      for (size_t j = i + 1; j < tokens[i].partner; ++j)
        if (tokens[j].kind == XmlToken::Kind::start && tokens[j].local_name() == "seg")
          variants.push_back({std::string(xml_attribute(tokens[i].in(unit_), "lang")), text_within(unit_, tokens, j)});
    }
    return variants;
  }

  static Variants::const_iterator find(const Variants& variants, const std::string& language) {
    return std::find_if(variants.begin(), variants.end(),
                        [&](const TmxVariant& variant) { return is_language(variant.language, language); });
  }

  // The languages of a unit in lower case, up to the first of the characters `ends`.
  static std::vector<std::string> languages_of(const Variants& variants, const char* ends) {
    std::vector<std::string> languages;
    for (const TmxVariant& variant : variants) {
      const std::string language = lower_case(variant.language.substr(0, variant.language.find_first_of(ends)));
      if (std::find(languages.begin(), languages.end(), language) == languages.end()) languages.push_back(language);
    }
    return languages;
  }

  // Takes the languages of the first unit that has two, one of which is the given one, if any. Their regions, which
  // often vary within a file, count only where the two languages differ in nothing else.
  void choose_languages(const Variants& variants) {
    std::vector<std::string> languages = languages_of(variants, "-_");
    if (languages.size() < 2) languages = languages_of(variants, "");
    if (languages.size() < 2) return;
    const std::string& given = source_.empty() ? target_ : source_;
    if (languages.size() > 2)
      throw std::invalid_argument(
          fmt::format("{}: has more than two languages ({}); name two of them with "
                      "--source-language and --target-language",
                      path_, fmt::join(languages, ", ")));
    const std::string& wanted = given.empty() ? header_language_ : given;
    const auto is_wanted = [&](const std::string& language) {
      return is_language(language, wanted) || is_language(wanted, language);
    };
    const size_t first = is_wanted(languages[1]) ? 1 : 0;
    if (!given.empty() && !is_wanted(languages[first])) return;
    const std::string known = languages[first], other = languages[1 - first];
    if (source_.empty()) source_ = target_.empty() ? known : other;
    if (target_.empty()) target_ = other;
  }

  void pass_over(const Variants& variants) {
    constexpr size_t kMostListed = 50;
    ++(variants.size() < 2 ? untranslated_ : other_languages_);
    if (has_pairs_) return;
    for (const TmxVariant& variant : variants)
      if (languages_.size() < kMostListed) languages_.insert(variant.language);
  }

  [[noreturn]] void refuse_languages() const {
    const auto name = [](const std::string& language) { return language.empty() ? "another language" : language; };
    throw std::runtime_error(fmt::format(
        "{}: no unit has both {} and {}; the languages of the file are: {}. --source-language and --target-language "
        "choose two",
        path_, source_.empty() && target_.empty() ? "one language" : name(source_), name(target_),
        fmt::join(languages_, ", ")));
  }

  std::string path_, source_, target_, header_language_;
  bool has_pairs_ = false;
  std::set<std::string> languages_;  // languages of the units before the first pair, for a message
  XmlUnits units_;
  std::string unit_;
};

}  // namespace

std::unique_ptr<PairReader> open_tmx_pairs(const std::string& path, const PairReaderOptions& options) {
  return std::make_unique<TmxPairs>(path, options);
}

}  // namespace v0
}  // namespace transmute

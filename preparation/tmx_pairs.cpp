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

// The language of a side. One that is not given is chosen from the file.
struct TmxSide {
  std::string language;
  bool is_given;
  explicit TmxSide(const std::string& given) : language(given), is_given(!given.empty()) {}
};

// The code in lower case, with hyphens.
std::string normalized(const std::string& language) {
  std::string code = lower_case(language);
  std::replace(code.begin(), code.end(), '_', '-');
  return code;
}

// The language and the script of a normalized code. The region of Chinese tells its script.
std::string without_region(const std::string& code) {
  if (code == "zh-cn" || code == "zh-sg" || code == "zh-chs") return "zh-hans";
  if (code == "zh-tw" || code == "zh-hk" || code == "zh-mo" || code == "zh-cht") return "zh-hant";
  constexpr size_t kScriptSize = 5;  // with the hyphen before it
  const std::string language = code.substr(0, code.find('-'));
  for (size_t at = language.size(), end = at; at < code.size(); at = end) {
    end = std::min(code.find('-', at + 1), code.size());
    const bool has_digit = code.find_first_of("0123456789", at) < end;  // a variant, such as 1901
    if (end - at == kScriptSize && !has_digit) return language + code.substr(at, kScriptSize);
  }
  return language;
}

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
      if (source_.language.empty() || target_.language.empty()) choose_languages(variants);
      const auto source = find(variants, source_), target = find(variants, target_);
      if (source != variants.end() && target != variants.end() && source != target) {
        if (is_ambiguous(variants, source_) || is_ambiguous(variants, target_)) ask_for_languages(variants);
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

  bool is_of(const TmxVariant& variant, const TmxSide& side) const {
    return side.is_given ? is_language(variant.language, side.language)
                         : !side.language.empty() && code_of(variant.language) == side.language;
  }

  Variants::const_iterator find(const Variants& variants, const TmxSide& side) const {
    return std::find_if(variants.begin(), variants.end(),
                        [&](const TmxVariant& variant) { return is_of(variant, side); });
  }

  // True if a language that was not given has several varieties in a unit.
  bool is_ambiguous(const Variants& variants, const TmxSide& side) const {
    std::set<std::string> codes;
    for (const TmxVariant& variant : variants)
      if (is_of(variant, side)) codes.insert(normalized(variant.language));
    return !side.is_given && codes.size() > 1;
  }

  // Regions often vary within a file.
  std::string code_of(const std::string& language) const {
    return regions_count_ ? normalized(language) : without_region(normalized(language));
  }

  std::vector<std::string> codes_of(const Variants& variants) const {
    std::vector<std::string> codes;
    for (const TmxVariant& variant : variants) {
      const std::string code = code_of(variant.language);
      if (!code.empty() && std::find(codes.begin(), codes.end(), code) == codes.end()) codes.push_back(code);
    }
    return codes;
  }

  // Takes the languages of the first unit that has two, one of which is the given one, if any. Regions count only where
  // the two languages differ in nothing else.
  void choose_languages(const Variants& variants) {
    regions_count_ = false;
    regions_count_ = codes_of(variants).size() < 2;
    const std::vector<std::string> languages = codes_of(variants);
    if (languages.size() < 2) return;
    if (languages.size() > 2) ask_for_languages(variants);
    const std::string& given = source_.is_given ? source_.language : target_.language;
    const std::string wanted = code_of(given.empty() ? header_language_ : given);
    const auto is_wanted = [&](const std::string& language) {
      return is_language(language, wanted) || is_language(wanted, language);
    };
    const size_t first = is_wanted(languages[1]) ? 1 : 0;
    if (!given.empty() && !is_wanted(languages[first])) return;
    const std::string known = languages[first], other = languages[1 - first];
    if (!source_.is_given) source_.language = target_.is_given ? other : known;
    if (!target_.is_given) target_.language = other;
  }

  [[noreturn]] void ask_for_languages(const Variants& variants) const {
    std::vector<std::string> languages;
    for (const TmxVariant& variant : variants) languages.push_back(name_of(variant.language));
    throw std::invalid_argument(
        fmt::format("{}: has more than two languages ({}); name two of them with "
                    "--source-language and --target-language",
                    path_, fmt::join(languages, ", ")));
  }

  static std::string name_of(const std::string& language) { return language.empty() ? "(none)" : language; }

  void pass_over(const Variants& variants) {
    constexpr size_t kMostListed = 50;
    ++(variants.size() < 2 ? untranslated_ : other_languages_);
    if (has_pairs_) return;
    for (const TmxVariant& variant : variants)
      if (languages_.size() < kMostListed) languages_.insert(name_of(variant.language));
  }

  [[noreturn]] void refuse_languages() const {
    const auto name = [](const TmxSide& side) { return side.is_given ? side.language : "another language"; };
    const std::string missing = source_.is_given || target_.is_given
                                    ? fmt::format("both {} and {}", name(source_), name(target_))
                                    : "two languages";
    throw std::runtime_error(
        fmt::format("{}: no unit has {}; the languages of the file are: {}. --source-language and --target-language "
                    "choose two",
                    path_, missing, fmt::join(languages_, ", ")));
  }

  const std::string path_;
  TmxSide source_, target_;
  std::string header_language_;
  bool has_pairs_ = false, regions_count_ = false;
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

// SPDX-License-Identifier: Apache-2.0
// Translation Memory eXchange 1.1 to 1.4.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/preparation/pair_reader.h>
#include <transmute/preparation/xml_units.h>

#include <algorithm>
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
        pair = {source->text, target->text};
        return true;
      }
      ++untranslated_;
    }
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

  // Takes the languages of the first unit that has two.
  void choose_languages(const Variants& variants) {
    std::vector<std::string> languages;
    for (const TmxVariant& variant : variants)
      if (std::find(languages.begin(), languages.end(), variant.language) == languages.end())
        languages.push_back(variant.language);
    if (languages.size() < 2) return;
    const std::string& given = source_.empty() ? target_ : source_;
    if (languages.size() > 2)
      throw std::invalid_argument(
          fmt::format("{}: has more than two languages ({}); name two of them with "
                      "--source-language and --target-language",
                      path_, fmt::join(languages, ", ")));
    const size_t first = is_language(languages[1], given.empty() ? header_language_ : given) ? 1 : 0;
    const std::string known = languages[first], other = languages[1 - first];
    if (source_.empty()) source_ = target_.empty() ? known : other;
    if (target_.empty()) target_ = other;
  }

  std::string path_, source_, target_, header_language_;
  XmlUnits units_;
  std::string unit_;
};

}  // namespace

std::unique_ptr<PairReader> open_tmx_pairs(const std::string& path, const PairReaderOptions& options) {
  return std::make_unique<TmxPairs>(path, options);
}

}  // namespace v0
}  // namespace transmute

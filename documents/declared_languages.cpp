// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/declared_languages.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/text_file.h>
#include <transmute/documents/html_markup.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/documents/office_scripts.h>
#include <transmute/documents/replacements.h>
#include <transmute/documents/xml_tokens.h>
#include <transmute/text/language_codes.h>
#include <transmute/text/tag_end.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// The source language as documents write it, and the target's in the same forms.
class LanguageNames {
 public:
  explicit LanguageNames(const LanguagePair& languages) {
    const icu::Locale source = likely_locale(languages.source), likely = likely_locale(languages.target);
    source_ = language_of(languages.source);
    source_script = office_script(source.getScript());
    script = office_script(likely.getScript());
    language = likely.getLanguage();
    region = likely.getCountry();
    changes_direction = script.is_right_to_left != source_script.is_right_to_left;
    // Without a script, programs would assume another one than readers of these languages expect.
    const std::string name = lists("az bs sr uz", language) ? fmt::format("_{}", likely.getScript()) : "";
    long_ = language + name + (region.empty() ? "" : "_" + region);
    icu::Locale shortest = icu::Locale::createCanonical(standard_code(languages.target).c_str());
    UErrorCode error = U_ZERO_ERROR;
    if (*shortest.getCountry() == '\0') {
      shortest = likely;
      shortest.minimizeSubtags(error);
    }
    short_ = shortest.toLanguageTag<std::string>(error);
  }

  // True for "en", "eng", "en-US" and "EN_us".
  bool is_source(std::string_view value) const {
    const bool is_tag = std::all_of(value.begin(), value.end(),
                                    [](char c) { return is_ascii_alphanumeric(c) || c == '-' || c == '_'; });
    return is_tag && language_of(std::string(value)) == source_;
  }
  // True for values that the target's replaces, in the attribute for scripts of this kind.
  bool is_replaced(std::string_view value, size_t kind) const {
    if (kind != script.kind || value.size() < 2 || lists("none x-none zxx", std::string(value))) return false;
    return is_source(value) ||
           (script.kind != source_script.kind && value.substr(0, value.find_first_of("-_")) != language);
  }
  // The target language with a region if `value` has one, and with its separator, else with the format's.
  std::string like(std::string_view value, char separator = '-') const {
    const size_t at = value.find_first_of("-_");
    std::string name = at == std::string_view::npos ? short_ : long_;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '-' || c == '_'; },
        at == std::string_view::npos ? separator : value[at]);
    return name;
  }

  std::string language, region;
  OfficeScript source_script, script;
  bool changes_direction;

 private:
  std::string source_, short_, long_;
};

}  // namespace

bool can_declare(const LanguagePair& languages) {
  // Endings of files such as train.src may be names of small languages, too.
  const auto is_known = [](const std::string& code) {
    const icu::Locale locale = likely_locale(code);
    const bool is_named = *locale.getISO3Language() != '\0' || code.find_first_of("-_") != std::string::npos;
    return is_named && *locale.getCountry() != '\0';
  };
  return is_known(languages.source) && is_known(languages.target) &&
         language_of(languages.source) != language_of(languages.target);
}

std::string page_in_language(std::string page, const LanguagePair& languages) {
  const LanguageNames names(languages);
  Replacements changes(std::move(page));
  const std::string_view html = changes.text();
  const char* const direction = names.script.is_right_to_left ? "rtl" : "ltr";
  for (const HtmlPiece& piece : html_pieces(changes.text())) {
    const std::string_view tag = html.substr(piece.begin, piece.end - piece.begin);
    const std::string name = element_name(tag);
    if (name.empty() || tag_end(tag) != tag.size()) continue;  // text, or an element that is kept
    bool has_source = false, has_direction = false;
    const auto replace = [&](const HtmlAttribute& attribute, std::string value) {
      changes.replace(piece.begin + attribute.begin, attribute.value.size(), std::move(value));
    };
    const bool is_whole = name == "html" || name == "body";
    for (const HtmlAttribute& attribute : attributes_of(tag)) {
      const bool is_language = attribute.name == "lang" || attribute.name == "xml:lang";
      has_source = has_source || (is_language && names.is_source(attribute.value));
      has_direction = has_direction || attribute.name == "dir";
      if (is_language && names.is_source(attribute.value)) replace(attribute, names.like(attribute.value));
      if (attribute.name == "dir" && lists("ltr rtl", lower_case(attribute.value)) && is_whole &&
          names.changes_direction)
        replace(attribute, direction);
    }
    if (has_source && is_whole && names.changes_direction && !has_direction)
      changes.insert(piece.begin + 1 + name.size(), fmt::format(" dir=\"{}\"", direction));
  }
  for (const HtmlToken& token : html_tokens(changes.text())) {
    if (token.name != "meta") continue;
    const auto attributes = attributes_of(html.substr(token.begin, token.end - token.begin));
    const bool is_language = std::any_of(attributes.begin(), attributes.end(), [](const HtmlAttribute& attribute) {
      return lists("http-equiv name property", attribute.name) &&
             lists("content-language dc.language language og:locale", lower_case(attribute.value));
    });
    for (const HtmlAttribute& attribute : attributes)
      if (is_language && attribute.name == "content" && names.is_source(attribute.value))
        changes.replace(token.begin + attribute.begin, attribute.value.size(), names.like(attribute.value));
  }
  return changes.result();
}

std::string xml_in_language(const std::string& name, std::string xml, const LanguagePair& languages) {
  const LanguageNames names(languages);
  xml = xml_in_script(name, std::move(xml), names.source_script, names.script);
  if (xml.find("lang") == std::string::npos && xml.find("Lang") == std::string::npos) return xml;
  Replacements changes(std::move(xml));
  bool is_package = false;  // a book's metadata are kept: each but dc:language is in the language that it declares
  for_each_tag(changes.text(), [&](std::string_view element, std::string_view tag, std::string_view text) {
    is_package = is_package || element == "package";
    const auto replace_if_source = [&](std::string_view value) {
      if (names.is_source(value)) changes.replace(value, names.like(value));
    };
    if (element == "language") {  // Dublin Core's
      constexpr const char* kSpace = " \t\r\n";
      const std::string_view language = text.substr(std::min(text.find_first_not_of(kSpace), text.size()));
      return replace_if_source(language.substr(0, language.find_last_not_of(kSpace) + 1));
    }
    if (element == "lang" || element == "themeFontLang") {  // Word's
      constexpr std::array<const char*, 3> kAttributes{"val", "eastAsia", "bidi"};
      for (size_t kind = 0; kind < kAttributes.size(); ++kind) {
        const std::string_view value = xml_attribute(tag, kAttributes[kind]);
        if (names.is_replaced(value, kind)) changes.replace(value, names.like(value));
      }
    } else if (element == "text-properties") {  // OpenDocument's
      constexpr std::array<const char*, 3> kEndings{"", "-asian", "-complex"};
      for (size_t kind = 0; kind < kEndings.size(); ++kind) {
        const std::string_view language = xml_attribute(tag, std::string("language") + kEndings[kind]);
        const std::string_view country = xml_attribute(tag, std::string("country") + kEndings[kind]);
        if (!names.is_replaced(language, kind)) continue;
        changes.replace(language, names.language);
        if (!country.empty() && country != "none") changes.replace(country, names.region);
      }
    } else if (!is_package) {
      replace_if_source(xml_attribute(tag, "lang"));
    }
  });
  return changes.result();
}

std::string xliff_in_language(std::string xliff, const LanguagePair& languages) {
  const LanguageNames names(languages);
  if (xliff.find("target>") == std::string::npos) return xliff;
  Replacements changes(std::move(xliff));
  bool is_version_2 = false;
  for_each_tag(changes.text(), [&](std::string_view name, std::string_view tag, std::string_view /*text*/) {
    if (name == "xliff") is_version_2 = xml_attribute(tag, "version").substr(0, 2) == "2.";
    const char* const attribute = is_version_2 ? "trgLang" : "target-language";
    if (name != (is_version_2 ? "xliff" : "file")) return;
    if (xml_attribute(tag, attribute).empty()) changes.replace(tag, with_xml_attribute(tag, attribute, names.like("")));
  });
  return changes.result();
}

std::string po_in_language(std::string po, const LanguagePair& languages) {
  constexpr std::string_view kField = "\n\"Language: ";
  const size_t header = po.find("msgstr"), field = po.find(kField, header);
  if (field == std::string::npos || field > std::min(po.find("\n\n", header), po.find("\n\r\n", header))) return po;
  const size_t begin = field + kField.size(), end = po.find("\\n\"", begin);
  if (end == std::string::npos) return po;
  const std::string old = po.substr(begin, end - begin);
  const LanguageNames names(languages);
  return old.empty() || names.is_source(old) ? po.replace(begin, old.size(), names.like(old, '_')) : po;
}

std::string yaml_in_language(std::string yaml, const LanguagePair& languages) {
  std::string_view key;  // the first key at the top level
  const std::string_view text = yaml;
  for (size_t begin = byte_order_mark_length(text), end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos || line.find_first_of(" \t#%") == 0 ||
        line.substr(0, 3) == "---" || line.substr(0, 3) == "...")
      continue;
    if (!key.empty()) return yaml;
    key = line.substr(0, line.find(':'));
    size_t value = line.find_first_not_of(" \t\r", key.size() + 1);
    if (value < line.size() && line[value] == '&')  // an anchor
      value = line.find_first_not_of(" \t\r", line.find_first_of(" \t\r", value));
    if (key.size() == line.size() || (value < line.size() && line[value] != '#')) return yaml;
  }
  const bool is_quoted = key.size() > 2 && (key[0] == '"' || key[0] == '\'') && key.back() == key[0];
  const std::string_view language = is_quoted ? key.substr(1, key.size() - 2) : key;
  const LanguageNames names(languages);
  if (!names.is_source(language)) return yaml;
  std::string name = names.like(language);
  if (name == "no" && !is_quoted) name = "\"no\"";  // otherwise it is false
  return yaml.replace(static_cast<size_t>(language.data() - text.data()), language.size(), name);
}

std::string json_in_language(std::string json, const LanguagePair& languages) {
  constexpr std::string_view kKey = "\"@@locale\"", kSpace = " \t\r\n";
  const size_t key = json.find(kKey), colon = json.find_first_not_of(kSpace, key + kKey.size());
  if (key == std::string::npos || colon == std::string::npos || json[colon] != ':') return json;
  const size_t quote = json.find_first_not_of(kSpace, colon + 1);
  if (quote == std::string::npos || json[quote] != '"') return json;
  const std::string locale = json.substr(quote + 1, json.find('"', quote + 1) - quote - 1);
  const LanguageNames names(languages);
  return names.is_source(locale) ? json.replace(quote + 1, locale.size(), names.like(locale, '_')) : json;
}

}  // namespace v0
}  // namespace transmute

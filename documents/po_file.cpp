// SPDX-License-Identifier: Apache-2.0
// Catalogs of GNU gettext.
#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/documents/accelerators.h>
#include <transmute/documents/file_formats.h>
#include <transmute/documents/html_references.h>
#include <transmute/documents/message.h>
#include <transmute/documents/plural_forms.h>
#include <transmute/documents/po_entries.h>
#include <transmute/documents/wrapped_text.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

std::string encoded_string(std::string_view text) {
  constexpr std::string_view kLetters = "ntrabvf\"\\", kCharacters = "\n\t\r\a\b\v\f\"\\";
  std::string line;
  for (const char c : text) {
    const size_t letter = kCharacters.find(c);
    if (letter == std::string_view::npos) {
      line += c;
    } else {
      line += '\\';
      line += kLetters[letter];
    }
  }
  return line;
}

class PoFile : public DocumentFile {
 public:
  PoFile(const std::string& name, std::string content, bool retranslate) : content_(std::move(content)) {
    std::vector<PoEntry> entries = po_entries(name, content_);
    std::vector<std::string> messages;
    for (const PoEntry& entry : entries) messages.push_back(entry.id);
    accelerator_sign_ = accelerator_sign(messages);
    for (PoEntry& entry : entries) {
      if (entry.id.empty()) {
        read_header(name, entry);
      } else if (retranslate || is_untranslated(entry)) {
        Places places{entry.has_plural ? text_numbers(entry.plural) : Numbers{}, text_numbers(entry.id)};
        entries_.emplace_back(std::move(entry), std::move(places));
      }
    }
  }

  TextFormat text_format() const override { return TextFormat::tags; }

  std::string with(const std::vector<std::string>& translations) const override {
    Output output{content_, "", 0};
    const std::string line_end = content_.find("\r\n") == std::string::npos ? "\n" : "\r\n";
    if (charset_ > 0 && !entries_.empty()) output.replace(charset_, charset_end_, "UTF-8");
    for (const auto& [entry, places] : entries_) {
      if (!entry.is_fuzzy && entry.flags > 0) output.replace(entry.flags, entry.flags, " fuzzy,");
      if (!entry.is_fuzzy && entry.flags == 0)
        output.replace(entry.first_keyword, entry.first_keyword, "#, fuzzy" + line_end);
      output.replace(entry.translations.front().begin, entry.translations.back().end,
                     translations_of(entry, places, translations, line_end));
    }
    return output.rest();
  }

 private:
  // The numbers of a message's texts: one for each case of a plural or a selection of ICU, else one.
  using Numbers = std::vector<size_t>;

  // The numbers of an entry's texts.
  struct Places {
    Numbers plural, singular;
  };

  // The file as it is written: bytes that stay, and others in the place of those that do not.
  struct Output {
    const std::string& content;
    std::string written;
    size_t at;

    void replace(size_t begin, size_t end, const std::string& text) {
      written += content.substr(at, begin - at) + text;
      at = end;
    }
    std::string rest() const { return written + content.substr(at); }
  };

  static bool is_untranslated(const PoEntry& entry) {
    return std::all_of(entry.translations.begin(), entry.translations.end(),
                       [](const PoField& field) { return field.text.empty(); });
  }

  // The place of a message of ICU, which is without the line ends at the ends of the string.
  static std::pair<size_t, size_t> message_in(const std::string& text) {
    const size_t begin = std::min(text.find_first_not_of('\n'), text.size());
    return {begin, text.find_last_not_of('\n') + 1 - begin};
  }

  Numbers text_numbers(const std::string& wrapped) {
    const auto [begin, size] = message_in(wrapped);
    const Message message(wrapped.substr(begin, size));
    const std::vector<std::string> texts =
        message.has_cases() ? message.texts()
                            : std::vector{without_accelerator(without_wrapping(wrapped), accelerator_sign_)};
    Numbers numbers;
    for (const std::string& text : texts) {
      const auto [found, is_new] = numbers_.emplace(text, texts_.size());
      if (is_new) texts_.push_back(text);
      numbers.push_back(found->second);
    }
    return numbers;
  }

  void read_header(const std::string& name, const PoEntry& header) {
    const PoField& field = header.translations.front();
    plural_forms_ = PluralForms(field.text);
    constexpr std::string_view kCharset = "charset=";
    const size_t begin = content_.find(kCharset, field.begin);
    if (begin == std::string::npos || begin > field.end) return;
    const size_t first = begin + kCharset.size();
    const size_t end = std::min(content_.find_first_of("\\\" ;\r\n", first), content_.size());
    const std::string charset = lower_case(content_.substr(first, end - first));
    if (charset == "utf-8" || charset == "utf8") return;
    if (charset != "charset" && charset != "ascii" && charset != "us-ascii")
      throw std::runtime_error(
          fmt::format("{}: is in {}; convert it first: msgconv -t UTF-8", name, content_.substr(first, end - first)));
    charset_ = first;
    charset_end_ = end;
  }

  std::string translations_of(const PoEntry& entry, const Places& places, const std::vector<std::string>& translations,
                              const std::string& line_end) const {
    const auto written = [&](const std::string& keyword, const std::string& source, const Numbers& texts) {
      std::vector<std::string> own;
      for (const size_t text : texts) own.push_back(translations[text]);
      const auto [begin, size] = message_in(source);
      const Message message(source.substr(begin, size));
      if (message.has_cases())
        return field(keyword, std::string(source).replace(begin, size, message.with(own)), line_end);
      const std::string marked = with_accelerator(without_wrapping(source), own.front(), accelerator_sign_);
      return field(keyword, wrapped_like(source, marked), line_end);
    };
    if (!entry.has_plural) return written("msgstr", entry.id, places.singular);
    std::string fields;
    const size_t forms = plural_forms_.count() > 0 ? plural_forms_.count() : entry.translations.size();
    for (size_t form = 0; form < forms; ++form) {
      const bool is_singular = forms > 1 && form == plural_forms_.singular();
      const std::string keyword = fmt::format("msgstr[{}]", form);
      fields += (form > 0 ? line_end : "") + (is_singular ? written(keyword, entry.id, places.singular)
                                                          : written(keyword, entry.plural, places.plural));
    }
    return fields;
  }

  // A keyword and its string. Each line of a text of several has its own.
  static std::string field(const std::string& keyword, const std::string& text, const std::string& line_end) {
    const size_t first = text.find('\n');
    if (first == std::string::npos || first + 1 == text.size())
      return fmt::format("{} \"{}\"", keyword, encoded_string(text));
    std::string result = keyword + " \"\"";
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      result += fmt::format("{}\"{}\"", line_end, encoded_string(std::string_view(text).substr(at, end - at)));
      at = end;
    }
    return result;
  }

  std::string content_;
  std::vector<std::pair<PoEntry, Places>> entries_;  // to be translated
  std::map<std::string, size_t> numbers_;            // numbers of texts
  PluralForms plural_forms_;
  char accelerator_sign_ = 0;
  size_t charset_ = 0, charset_end_ = 0;  // one that is none, in the header
};

}  // namespace

std::unique_ptr<DocumentFile> open_po(const std::string& name, std::string content,
                                      const DocumentFileOptions& options) {
  return std::make_unique<PoFile>(name, std::move(content), options.retranslate);
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
// Catalogs of GNU gettext.
#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/documents/accelerators.h>
#include <transmute/documents/ascii_text.h>
#include <transmute/documents/file_formats.h>
#include <transmute/documents/plural_forms.h>
#include <transmute/documents/po_entries.h>
#include <transmute/documents/span_file.h>
#include <transmute/documents/wrapped_text.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

std::string encoded_string(std::string_view text) {
  return in_double_quotes(text, "\n\t\r\a\b\v\f\"\\", "ntrabvf\"\\", [](char c) { return std::string(1, c); });
}

class PoFile : public SpanFile {
 public:
  PoFile(const std::string& name, std::string content, bool retranslate)
      : SpanFile(std::move(content)), line_end_(content_.find("\r\n") == std::string::npos ? "\n" : "\r\n") {
    std::vector<PoEntry> entries = po_entries(name, content_);
    std::vector<std::string> messages;
    messages.reserve(entries.size());
    for (const PoEntry& entry : entries) messages.push_back(entry.id);
    accelerator_sign_ = accelerator_sign(messages);
    const auto is_wanted = [&](const PoEntry& entry) {
      return !entry.id.empty() && !asks_for_translators(entry) && (retranslate || is_untranslated(entry));
    };
    const bool is_changed = std::any_of(entries.begin(), entries.end(), is_wanted);
    for (PoEntry& entry : entries) {
      if (entry.id.empty()) read_header(name, entry, is_changed);
      if (is_wanted(entry)) add_entry(std::move(entry));
    }
  }

 private:
  static bool is_untranslated(const PoEntry& entry) {
    return std::all_of(entry.translations.begin(), entry.translations.end(),
                       [](const PoField& field) { return field.text.empty(); });
  }

  // True for the entry in which translators write their names, of GNOME or KDE.
  static bool asks_for_translators(const PoEntry& entry) {
    return entry.id == "translator-credits" || entry.id == "translator_credits" ||
           entry.context == "NAME OF TRANSLATORS" || entry.context == "EMAIL OF TRANSLATORS";
  }

  // The place of a message of ICU, which is without the line ends at the ends of the string.
  static std::pair<size_t, size_t> message_in(const std::string& text) {
    const size_t begin = std::min(text.find_first_not_of('\n'), text.size());
    return {begin, text.find_last_not_of('\n') + 1 - begin};
  }

  // The texts of a message: one for each case of a plural or a selection of ICU, none if it stays, else one.
  std::vector<std::string> texts_of(const std::string& wrapped) const {
    const auto [begin, size] = message_in(wrapped);
    const Message message(wrapped.substr(begin, size));
    if (message.has_own_texts()) return message.texts();
    const std::string text = without_accelerator(without_wrapping(wrapped, WrappedText::message), accelerator_sign_);
    return {doubles_apostrophes(wrapped) ? undoubled(text, '\'') : text};
  }

  void replace(size_t begin, size_t end, const std::string& bytes) {
    add({begin, end, {}, [bytes](const auto&) { return bytes; }, false});
  }

  void add_entry(PoEntry entry) {
    FileSpan span{entry.translations.front().begin, entry.translations.back().end, {}, {}, false};
    if (entry.has_plural) span.texts = texts_of(entry.plural);
    const auto of_plural = static_cast<int64_t>(span.texts.size());
    for (std::string& text : texts_of(entry.id)) span.texts.push_back(std::move(text));
    if (span.texts.empty()) return;
    if (!entry.is_fuzzy && entry.flags > 0) replace(entry.flags, entry.flags, " fuzzy,");
    if (!entry.is_fuzzy && entry.flags == 0) replace(entry.begin, entry.begin, "#, fuzzy" + line_end_);
    span.write = [this, entry = std::move(entry), of_plural](const std::vector<std::string>& translations) {
      const auto middle = translations.begin() + of_plural;
      return translations_of(entry, {translations.begin(), middle}, {middle, translations.end()});
    };
    add(std::move(span));
  }

  void read_header(const std::string& name, const PoEntry& header, bool is_changed) {
    const PoField& field = header.translations.front();
    plural_forms_ = PluralForms(field.text);
    constexpr std::string_view kCharset = "charset=";
    const size_t begin = std::string_view(content_).substr(field.begin, field.end - field.begin).find(kCharset);
    if (begin == std::string::npos) return;
    const size_t first = field.begin + begin + kCharset.size();
    const size_t end = std::min(content_.find_first_of("\\\" ;\r\n", first), content_.size());
    const std::string charset = lower_case(content_.substr(first, end - first));
    if (charset == "utf-8" || charset == "utf8") return;
    if (charset != "charset" && charset != "ascii" && charset != "us-ascii")
      throw std::runtime_error(
          fmt::format("{}: is in {}; convert it first: msgconv -t UTF-8", name, content_.substr(first, end - first)));
    if (is_changed) replace(first, end, "UTF-8");
  }

  using Texts = std::vector<std::string>;
  std::string translations_of(const PoEntry& entry, const Texts& plural, const Texts& singular) const {
    const auto written = [&](const std::string& keyword, const std::string& source, const Texts& own) {
      const auto [begin, size] = message_in(source);
      const Message message(source.substr(begin, size));
      if (message.has_own_texts()) return field(keyword, std::string(source).replace(begin, size, message.with(own)));
      const std::string translation = doubles_apostrophes(source) ? doubled(own.front(), '\'') : own.front();
      const std::string marked =
          with_accelerator(without_wrapping(source, WrappedText::message), translation, accelerator_sign_);
      return field(keyword, wrapped_like(source, marked, WrappedText::message));
    };
    if (!entry.has_plural) return written("msgstr", entry.id, singular);
    std::string fields;
    const size_t forms =
        plural_forms_.count() > 0 ? plural_forms_.count() : std::min(entry.translations.size(), PluralForms::kMost);
    for (size_t form = 0; form < forms; ++form) {
      const bool is_singular = forms > 1 && form == plural_forms_.singular();
      const std::string keyword = fmt::format("msgstr[{}]", form);
      fields += (form > 0 ? line_end_ : "") +
                (is_singular ? written(keyword, entry.id, singular) : written(keyword, entry.plural, plural));
    }
    return fields;
  }

  // A keyword and its string. Each line of a text of several has its own.
  std::string field(const std::string& keyword, const std::string& text) const {
    const size_t first = text.find('\n');
    if (first == std::string::npos || first + 1 == text.size()) return keyword + ' ' + encoded_string(text);
    std::string result = keyword + " \"\"";
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      result += line_end_ + encoded_string(std::string_view(text).substr(at, end - at));
      at = end;
    }
    return result;
  }

  std::string line_end_;
  PluralForms plural_forms_;
  char accelerator_sign_ = 0;
};

}  // namespace

std::unique_ptr<DocumentFile> open_po(const std::string& name, std::string content,
                                      const DocumentFileOptions& options) {
  return std::make_unique<PoFile>(name, std::move(content), options.retranslate);
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/style_fonts.h>

#include <transmute/common/ascii_case.h>
#include <transmute/common/files.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/documents/xml_tokens.h>

namespace transmute {
inline namespace v0 {

namespace {

// True for the name of a monospaced font: Courier New, DejaVu Sans Mono, Source Code Pro; not Monotype Corsiva.
bool is_monospaced_font(std::string_view font) {
  constexpr std::string_view kMono = "mono";
  const std::string name = lower_case(std::string(font));
  for (const char* part : {" code", "cascadia", "consol", "courier", "letter gothic", "menlo", "monaco", "typewriter"})
    if (name.find(part) != std::string::npos) return true;
  const size_t mono = name.find(kMono);
  return mono != std::string::npos && name.compare(mono + kMono.size(), 1, "t") != 0;
}

}  // namespace

void StyleFonts::add(std::string_view xml) {
  Style* style = &styles_[""];  // the style that the tag is within; null within other elements
  for_each_tag(xml, [&](std::string_view name, std::string_view tag, std::string_view /*text*/) {
    const auto value = [&](const char* attribute) { return std::string(xml_attribute(tag, attribute)); };
    if (name == "font-face") {
      if (value("font-pitch") == "fixed" || is_monospaced_font(value("font-family"))) fonts_.insert(value("name"));
    } else if (name == "default-style") {
      style = value("family") == "paragraph" ? &styles_[""] : nullptr;
    } else if (name == "style") {
      const bool is_of_text = lists("character paragraph text", value("family") + value("type"));
      style = is_of_text ? &styles_[value("styleId") + value("name")] : nullptr;
      if (is_of_text) *style = {value("parent-style-name")};
      if (value("type") == "paragraph" && lists("1 true on", value("default"))) default_style_ = value("styleId");
    } else if (ends_in(std::string(name), "-style")) {
      style = nullptr;
    } else if (style != nullptr && name == "basedOn") {
      style->parent = value("val");
    } else if (style != nullptr && (name == "rFonts" || name == "text-properties")) {
      style->is_monospaced = of_tag(tag);
    }
  });
}

std::optional<bool> StyleFonts::of_style(std::string_view style) const {
  constexpr int kMostParents = 20;  // limit, so that a circular chain ends
  auto found = styles_.find(style);
  for (int i = 0; i < kMostParents && found != styles_.end() && !found->first.empty(); ++i) {
    if (found->second.is_monospaced) return found->second.is_monospaced;
    found = styles_.find(found->second.parent);
  }
  return {};
}

std::optional<bool> StyleFonts::of_tag(std::string_view tag) const {
  if (!xml_attribute(tag, "asciiTheme").empty()) return false;
  for (const char* attribute : {"ascii", "typeface", "font-name", "font-family"})
    if (const std::string_view font = xml_attribute(tag, attribute); !font.empty())
      return fonts_.count(font) > 0 || is_monospaced_font(font);
  return {};
}

bool StyleFonts::is_monospaced_by_default() const {
  const auto found = styles_.find("");
  const bool is_monospaced = found != styles_.end() && found->second.is_monospaced.value_or(false);
  return of_style(default_style_).value_or(is_monospaced);
}

}  // namespace v0
}  // namespace transmute

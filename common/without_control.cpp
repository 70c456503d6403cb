// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/without_control.h>

#include <spdlog/fmt/fmt.h>

namespace transmute {
inline namespace v0 {

std::string without_control(const std::string& text) {
  constexpr unsigned char kFirstOfC1 = 0xC2;  // U+0080 to U+009F are two bytes in UTF-8
  std::string safe;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (byte == kFirstOfC1 && next >= 0x80 && next < 0xA0) {
      safe += fmt::format("\\u{:04x}", next);
      ++i;
    } else if (byte == '\n') {
      safe += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      safe += fmt::format("\\x{:02x}", byte);
    } else {
      safe += text[i];
    }
  }
  return safe;
}

}  // namespace v0
}  // namespace transmute

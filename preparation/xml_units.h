// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/byte_source.h>
#include <transmute/documents/xml_tokens.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Finds certain elements of an XML file of any size, one by one: memory is needed for one of them.
class XmlUnits {
 public:
  /// Takes a start tag outside of units.
  using TakeTag = std::function<void(std::string_view name, std::string_view tag)>;

  /// @param root local name of the outermost element
  /// @param units local names of the elements, which do not contain each other
  XmlUnits(const std::string& path, std::string root, std::vector<std::string> units, TakeTag take_tag);

  /// Puts the next element into `unit`; false at the end.
  /// @throws std::runtime_error naming the file, if it is UTF-16, has another outermost element, declares entities,
  /// has a unit of more than 8 MiB, or ends within an element
  bool next(std::string& unit);

  /// The name that messages give to the unit that `next` returned last.
  std::string place() const;

 private:
  bool fill();
  [[noreturn]] void refuse(const std::string& why) const;
  size_t find(std::string_view what, size_t from, const char* within);
  size_t tag_end();
  bool skip_to_markup();
  size_t end_tag_end(const std::string& closing, size_t from);
  bool read_tag(std::string& unit);

  std::string path_, root_;
  std::vector<std::string> units_;
  TakeTag take_tag_;
  ByteSource source_;
  std::string buffer_;
  size_t position_ = 0;
  int64_t count_ = 0;
  size_t depth_ = 0;  // open elements outside of units
  bool has_root_ = false;
};

/// The text that an element contains, on one line. Native codes in it, such as <ph>, are left out.
std::string text_within(std::string_view xml, const std::vector<XmlToken>& tokens, size_t element);

}  // namespace v0
}  // namespace transmute

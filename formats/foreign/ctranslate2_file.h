// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/network/array.h>
#include <transmute/network/options.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace formats {

/// Types and activations in the order of the numbers by which the file calls them.
constexpr NumberType kCTranslate2Types[] = {NumberType::float32, NumberType::int8,    NumberType::int16,
                                            NumberType::int32,   NumberType::float16, NumberType::bfloat16};
constexpr Activation kCTranslate2Activations[] = {Activation::relu, Activation::gelu_tanh, Activation::swish,
                                                  Activation::gelu, Activation::gelu_sigmoid};

/// The variables of CTranslate2's `model.bin`, of its binary versions 1 to 6.
class CTranslate2File {
 public:
  /// Sizes are checked against the file before memory is taken.
  /// @throws std::runtime_error naming the file, and the variable if one is damaged.
  explicit CTranslate2File(const std::string& path);

  int64_t version() const { return version_; }                         ///< of the file's format
  const std::string& specification() const { return specification_; }  ///< for example TransformerSpec

  bool has(const std::string& name) const { return variables_.count(name) > 0; }
  /// A number without dimensions, such as a flag; nothing if there is none. @throws if it is an array or not
  /// finite.
  std::optional<double> number(const std::string& name) const;
  /// True if it is an 8-bit integer, as CTranslate2 writes flags. Numbers that are no flags are float.
  bool is_flag(const std::string& name) const;
  /// float32; integers are divided by their `name_scale`, 16-bit ones without one by 1000. @throws std::runtime_error
  /// if there is none.
  Array take(const std::string& name);
  /// The variables that were not taken, without single numbers, which are settings.
  std::vector<std::string> left() const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int64_t version_ = 0;
  std::string specification_ = "TransformerBase";
  std::unordered_map<std::string, Array> variables_;
  std::unordered_set<std::string> taken_;
};

}  // namespace formats
}  // namespace v0
}  // namespace transmute

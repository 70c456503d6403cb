// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/ctranslate2_file.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/formats/foreign/file_cursor.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

constexpr uint64_t kOldestVersion = 1, kNewestVersion = 6;
constexpr uint64_t kFirstVersionWithSpecification = 2, kFirstVersionWithAliases = 3, kFirstVersionWithTypes = 4;
constexpr uint64_t kRevisionOfOpenNmtNames = 1;
constexpr uint64_t kMostDimensions = 4;
constexpr uint64_t kMostVariables = 100'000;  // and aliases; 1,000 layers have fewer
constexpr const char* kScaleSuffix = "_scale";
constexpr const char* kKind = "model.bin of CTranslate2";

// The scale of 16-bit numbers whose file names none.
constexpr float kShortScale = 1000;

// Its length counts a zero at the end.
std::string text(FileCursor& cursor) {
  const uint64_t length = cursor.number(2);
  if (length == 0) cursor.damaged("a name has no length");
  std::string value = cursor.text(length, "a name");
  value.pop_back();
  return value;
}

NumberType type_of_item(const FileCursor& cursor, const std::string& name, uint64_t bytes) {
  switch (bytes) {
    case 1:
      return NumberType::int8;
    case 2:
      return NumberType::int16;
    case 4:
      return NumberType::float32;
    default:
      cursor.damaged(fmt::format("'{}' has numbers of {} bytes", name, bytes));
  }
}

Array read_variable(FileCursor& cursor, const std::string& name, uint64_t version) {
  const uint64_t dimensions = cursor.number(1);
  if (dimensions > kMostDimensions) cursor.damaged(fmt::format("'{}' has {} dimensions", name, dimensions));
  std::vector<int64_t> sizes;
  for (uint64_t d = 0; d < dimensions; ++d) sizes.push_back(static_cast<int64_t>(cursor.number(4)));
  const uint64_t type_or_bytes = cursor.number(1);
  NumberType type = NumberType::float32;
  uint64_t bytes = cursor.number(4);
  if (version >= kFirstVersionWithTypes) {
    if (type_or_bytes >= std::size(kCTranslate2Types)) cursor.damaged(fmt::format("'{}' has an unknown type", name));
    type = kCTranslate2Types[type_or_bytes];
  } else {
    type = type_of_item(cursor, name, type_or_bytes);
    bytes *= type_or_bytes;
  }
  uint64_t wanted = size_of(type);
  for (const int64_t size : sizes)
    if (__builtin_mul_overflow(wanted, static_cast<uint64_t>(size), &wanted))
      cursor.damaged(fmt::format("impossible shape of '{}'", name));
  // The sizes of files of more than 4 GiB are there in their low 32 bits.
  if (static_cast<uint32_t>(wanted) != static_cast<uint32_t>(bytes))
    cursor.damaged(fmt::format("shape and size of '{}' disagree", name));
  cursor.require(wanted, "'" + name + "'");
  Array values(wanted == 0 ? std::vector<int64_t>{0} : sizes, type);
  cursor.read(values.data(), wanted, "'" + name + "'");
  return values;
}

// The first revision called variables what TensorFlow called them: "transformer/encoder/w_embs:0".
std::string present_name(std::string name) {
  const auto replace = [&](const std::string& from, const std::string& to) {
    const size_t at = name.find(from);
    if (at != std::string::npos) name.replace(at, from.size(), to);
  };
  const bool is_decoder = name.find("decoder") != std::string::npos;
  replace("transformer/", "");
  replace(":0", "");
  replace("w_embs", "embeddings/weight");
  replace("kernel", "weight");
  replace("LayerNorm", "layer_norm");
  replace("dense", "projection");
  replace("conv1d_", "linear_");
  replace("conv1d", "linear_0");
  replace("masked_multi_head", "self_attention");
  replace("multi_head", is_decoder ? "attention" : "self_attention");
  return name;
}

}  // namespace

CTranslate2File::CTranslate2File(const std::string& path) : path_(path) {
  FileCursor cursor(path, kKind);
  const uint64_t version = cursor.number(4);
  if (version < kOldestVersion || version > kNewestVersion)
    cursor.damaged(fmt::format("binary version {}; {} to {} are supported", version, kOldestVersion, kNewestVersion));
  version_ = static_cast<int64_t>(version);
  uint64_t revision = 1;  // of the specification
  if (version >= kFirstVersionWithSpecification) {
    specification_ = text(cursor);
    revision = cursor.number(4);
  }
  const uint64_t count = cursor.number(4);
  if (count > kMostVariables) cursor.damaged(fmt::format("it has {} variables", count));
  for (uint64_t v = 0; v < count; ++v) {
    std::string name = text(cursor);
    if (revision == kRevisionOfOpenNmtNames) name = present_name(std::move(name));
    if (!variables_.emplace(name, read_variable(cursor, name, version)).second)
      cursor.damaged(fmt::format("it has '{}' twice", name));
  }
  if (version < kFirstVersionWithAliases) return;
  const uint64_t aliases = cursor.number(4);
  if (aliases > kMostVariables) cursor.damaged(fmt::format("it has {} second names of variables", aliases));
  for (uint64_t a = 0; a < aliases; ++a) {
    const std::string alias = text(cursor);
    const std::string name = text(cursor);
    if (!has(name)) cursor.damaged(fmt::format("'{}' stands for nothing", alias));
    for (const char* part : {"", kScaleSuffix})
      if (const auto found = variables_.find(name + part); found != variables_.end()) {
        const Array variable = found->second;
        variables_[alias + part] = variable;
      }
  }
}

std::optional<double> CTranslate2File::number(const std::string& name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return {};
  if (found->second.count() != 1) damaged_file(path_, kKind, fmt::format("'{}' is not a single number", name));
  const double value = found->second.to_float32().floats()[0];
  if (!std::isfinite(value)) damaged_file(path_, kKind, fmt::format("'{}' is {}", name, value));
  return value;
}

bool CTranslate2File::is_flag(const std::string& name) const {
  const auto found = variables_.find(name);
  return found != variables_.end() && found->second.type() == NumberType::int8;
}

Array CTranslate2File::take(const std::string& name) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) throw std::runtime_error(fmt::format("{}: has no variable '{}'", path_, name));
  taken_.insert(name);
  taken_.insert(name + kScaleSuffix);
  Array values = found->second.to_float32();
  if (is_real(found->second.type())) return values;
  const auto scale = variables_.find(name + kScaleSuffix);
  Array scales = Array::of({1}, {kShortScale});
  if (scale != variables_.end())
    scales = scale->second.to_float32();
  else if (found->second.type() != NumberType::int16)
    damaged_file(path_, kKind, fmt::format("'{}' has integers, but no '{}_scale'", name, name));
  if (scales.count() != 1 && (values.dimensions() != 2 || scales.count() != values.size(0)))
    damaged_file(path_, kKind, fmt::format("'{}_scale' does not fit '{}'", name, name));
  const int64_t numbers = values.count() / std::max<int64_t>(scales.count(), 1);  // of one scale
  float* number = values.floats();
  for (int64_t s = 0; s < scales.count(); ++s) {
    const float divisor = scales.floats()[s];
    for (int64_t i = 0; i < numbers; ++i) *number++ /= divisor;
  }
  return values;
}

std::vector<std::string> CTranslate2File::left() const {
  std::vector<std::string> names;
  for (const auto& [name, variable] : variables_)
    if (variable.count() != 1 && taken_.count(name) == 0) names.push_back(name);
  return names;
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/ctranslate2_file.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>

#include <algorithm>
#include <cmath>
#include <cstring>
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

// The scale of 16-bit numbers whose file names none.
constexpr float kShortScale = 1000;

// The types by the numbers that the file uses.
constexpr NumberType kTypes[] = {NumberType::float32, NumberType::int8,    NumberType::int16,
                                 NumberType::int32,   NumberType::float16, NumberType::bfloat16};

[[noreturn]] void damaged_file(const std::string& path, const std::string& what) {
  throw std::runtime_error(fmt::format("{}: no model.bin of CTranslate2, or damaged ({}); restore it", path, what));
}

// Reads one thing after the other; small ones from a buffer.
class Cursor {
 public:
  explicit Cursor(const std::string& path) : path_(path), file_(path) {}

  uint64_t number(size_t bytes) {
    unsigned char little_endian[8] = {};
    read(little_endian, bytes, "a number");
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= uint64_t{little_endian[i]} << (8 * i);
    return value;
  }

  // Its length counts a zero at the end.
  std::string text() {
    const uint64_t length = number(2);
    if (length == 0) damaged_file(path_, "a name has no length");
    std::string value(length, '\0');
    read(value.data(), length, "a name");
    value.resize(length - 1);
    return value;
  }

  void read(void* to, uint64_t count, const std::string& what) {
    require(count, what);
    const bool is_large = count > kBufferBytes;
    if (!is_large && (at_ < buffer_begin_ || at_ + count > buffer_begin_ + buffer_.size())) {
      buffer_begin_ = at_;
      buffer_.resize(kBufferBytes);
      buffer_.resize(file_.read(at_, buffer_.data(), kBufferBytes));
    }
    const uint64_t found = is_large ? file_.read(at_, to, count) : buffer_.size() - (at_ - buffer_begin_);
    if (found < count) damaged_file(path_, what + " is cut short");
    if (!is_large && count > 0) std::memcpy(to, buffer_.data() + (at_ - buffer_begin_), count);
    at_ += count;
  }

  void require(uint64_t count, const std::string& what) const {
    if (count > file_.size() - at_) damaged_file(path_, what + " is cut short");
  }

 private:
  const std::string& path_;
  static constexpr uint64_t kBufferBytes = 1 << 16;

  InputFile file_;
  uint64_t at_ = 0;
  std::string buffer_;
  uint64_t buffer_begin_ = 0;  // its place in the file
};

NumberType type_of_item(const std::string& path, const std::string& name, uint64_t bytes) {
  switch (bytes) {
    case 1:
      return NumberType::int8;
    case 2:
      return NumberType::int16;
    case 4:
      return NumberType::float32;
    default:
      damaged_file(path, fmt::format("'{}' has numbers of {} bytes", name, bytes));
  }
}

Array read_variable(Cursor& cursor, const std::string& path, const std::string& name, uint64_t version) {
  const uint64_t dimensions = cursor.number(1);
  if (dimensions > kMostDimensions) damaged_file(path, fmt::format("'{}' has {} dimensions", name, dimensions));
  std::vector<int64_t> sizes;
  for (uint64_t d = 0; d < dimensions; ++d) sizes.push_back(static_cast<int64_t>(cursor.number(4)));
  const uint64_t type_or_bytes = cursor.number(1);
  NumberType type = NumberType::float32;
  uint64_t bytes = cursor.number(4);
  if (version >= kFirstVersionWithTypes) {
    if (type_or_bytes >= std::size(kTypes)) damaged_file(path, fmt::format("'{}' has an unknown type", name));
    type = kTypes[type_or_bytes];
  } else {
    type = type_of_item(path, name, type_or_bytes);
    bytes *= type_or_bytes;
  }
  uint64_t wanted = size_of(type);
  for (const int64_t size : sizes)
    if (__builtin_mul_overflow(wanted, static_cast<uint64_t>(size), &wanted))
      damaged_file(path, fmt::format("impossible shape of '{}'", name));
  // The sizes of files of more than 4 GiB are there in their low 32 bits.
  if (static_cast<uint32_t>(wanted) != static_cast<uint32_t>(bytes))
    damaged_file(path, fmt::format("shape and size of '{}' disagree", name));
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
  Cursor cursor(path);
  const uint64_t version = cursor.number(4);
  if (version < kOldestVersion || version > kNewestVersion)
    damaged_file(path,
                 fmt::format("binary version {}; {} to {} are supported", version, kOldestVersion, kNewestVersion));
  version_ = static_cast<int64_t>(version);
  uint64_t revision = 1;  // of the specification
  if (version >= kFirstVersionWithSpecification) {
    specification_ = cursor.text();
    revision = cursor.number(4);
  }
  const uint64_t count = cursor.number(4);
  if (count > kMostVariables) damaged_file(path, fmt::format("it has {} variables", count));
  for (uint64_t v = 0; v < count; ++v) {
    std::string name = cursor.text();
    if (revision == kRevisionOfOpenNmtNames) name = present_name(std::move(name));
    if (!variables_.emplace(name, read_variable(cursor, path, name, version)).second)
      damaged_file(path, fmt::format("it has '{}' twice", name));
  }
  if (version < kFirstVersionWithAliases) return;
  const uint64_t aliases = cursor.number(4);
  if (aliases > kMostVariables) damaged_file(path, fmt::format("it has {} second names of variables", aliases));
  for (uint64_t a = 0; a < aliases; ++a) {
    const std::string alias = cursor.text();
    const std::string name = cursor.text();
    if (!has(name)) damaged_file(path, fmt::format("'{}' stands for nothing", alias));
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
  if (found->second.count() != 1) damaged_file(path_, fmt::format("'{}' is not a single number", name));
  const double value = found->second.to_float32().floats()[0];
  if (!std::isfinite(value)) damaged_file(path_, fmt::format("'{}' is {}", name, value));
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
    damaged_file(path_, fmt::format("'{}' has integers, but no '{}_scale'", name, name));
  if (scales.count() != 1 && (values.dimensions() != 2 || scales.count() != values.size(0)))
    damaged_file(path_, fmt::format("'{}_scale' does not fit '{}'", name, name));
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

// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/marian_files.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/parsed_number.h>
#include <transmute/common/text_file.h>
#include <transmute/common/yaml.h>
#include <transmute/common/zip_archive.h>
#include <transmute/formats/foreign/json_config.h>
#include <transmute/formats/foreign/vocabulary.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

constexpr const char* kArraySuffix = ".npy";
constexpr size_t kMaxDimensions = 16;

std::string without_spaces(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Decodes the escapes of double quotes in YAML: \n, \", \\, \x85, \u2028 and the like.
std::string unescaped(const std::string& quoted) {
  std::string text;
  for (size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\' || i + 1 == quoted.size()) {
      text += quoted[i];
      continue;
    }
    const char kind = quoted[++i];
    const size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    if (digits > 0) {
      append_utf8(text, static_cast<uint32_t>(std::strtoul(quoted.substr(i + 1, digits).c_str(), nullptr, 16)));
      i += digits;
      continue;
    }
    constexpr const char* kNames = "0abtnvfre";
    constexpr const char kMeanings[] = "\0\a\b\t\n\v\f\r\x1b";
    const char* name = std::strchr(kNames, kind);
    text += name != nullptr ? kMeanings[name - kNames] : kind;
  }
  return text;
}

std::string unquoted(const std::string& given) {
  const std::string text = without_spaces(given);
  if (text.size() < 2 || text.front() != text.back()) return text;
  const std::string inner = text.substr(1, text.size() - 2);
  if (text.front() == '"') return unescaped(inner);
  if (text.front() != '\'') return text;
  std::string single;
  for (size_t i = 0; i < inner.size(); ++i) {
    single += inner[i];
    if (inner[i] == '\'') ++i;  // '' is one quote
  }
  return single;
}

[[noreturn]] void refuse_kind(const std::string& name, const char* key, const char* kind) {
  throw std::runtime_error(fmt::format("{}: {} is not {}", name, key, kind));
}

std::string text_of(const YAML::Node& map, const char* key, const std::string& name) {
  const YAML::Node value = map[key];
  if (!value || value.IsNull()) return "";
  if (!value.IsScalar()) refuse_kind(name, key, "a single value");
  return value.Scalar();
}

std::vector<std::string> texts_of(const YAML::Node& map, const char* key, const std::string& name) {
  const YAML::Node value = map[key];
  if (!value || value.IsNull()) return {};
  if (value.IsScalar()) return {value.Scalar()};
  if (!value.IsSequence()) refuse_kind(name, key, "a list");
  std::vector<std::string> texts;
  for (const YAML::Node& item : value) {
    if (!item.IsScalar()) refuse_kind(name, key, "a list of texts");
    texts.push_back(item.Scalar());
  }
  return texts;
}

std::vector<std::string> pieces_of_lines(const std::string& path, size_t rows) {
  std::vector<std::string> pieces;
  std::istringstream lines(read_model_text(path));
  for (std::string line; pieces.size() < rows && std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    pieces.push_back(line);
  }
  return pieces;
}

std::vector<std::string> pieces_of_json(const Json& map, const std::string& path, size_t rows) {
  std::vector<std::string> pieces;
  for (const auto& [piece, number] : map.items()) {
    if (!number.is_number_unsigned()) throw std::runtime_error(fmt::format("{}: \"{}\" has no number", path, piece));
    if (number.get<size_t>() < rows) give_number(pieces, number.get<size_t>(), piece, path);
  }
  return pieces;
}

// An array of NumPy: a magic text, a header that describes it in Python's syntax, and its numbers.
class NumpyArray {
 public:
  NumpyArray(std::string bytes, std::string where) : bytes_(std::move(bytes)), where_(std::move(where)) {
    constexpr size_t kPrologue = 10;
    if (bytes_.size() < kPrologue || bytes_.compare(0, 6, "\x93NUMPY") != 0) damaged("it is not an array");
    const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes_[i])); };
    size_t length = byte(8) | byte(9) << 8;
    size_t begin = kPrologue;
    if (byte(6) > 1) {
      if (bytes_.size() < 12) damaged("it is cut short");
      length |= byte(10) << 16 | byte(11) << 24;
      begin = 12;
    }
    if (length > bytes_.size() - begin) damaged("it is cut short");
    header_ = bytes_.substr(begin, length);
    data_ = begin + length;
  }

  std::string as_text() const { return bytes_.substr(data_); }

  Array as_array() const {
    if (header_.find("'<f4'") == std::string::npos) damaged("it is not of float32 numbers");
    if (header_.find("'fortran_order': False") == std::string::npos) damaged("its numbers stand in Fortran's order");
    const std::vector<int64_t> sizes = shape();
    int64_t reach = sizeof(float);  // sizes that overflow are refused beside a 0, too
    uint64_t bytes = sizeof(float);
    for (const int64_t size : sizes) {
      if (__builtin_mul_overflow(reach, std::max<int64_t>(size, 1), &reach)) damaged("its shape is impossible");
      bytes *= static_cast<uint64_t>(size);
    }
    if (bytes != bytes_.size() - data_) damaged("its shape and its size disagree");
    Array array(sizes);
    std::memcpy(array.data(), bytes_.data() + data_, bytes);
    return array;
  }

 private:
  [[noreturn]] void damaged(const char* what) const {
    throw std::runtime_error(fmt::format("{}: damaged ({}); restore the file", where_, what));
  }

  std::vector<int64_t> shape() const {
    const size_t key = header_.find("'shape':");
    const size_t open = header_.find('(', key == std::string::npos ? 0 : key);
    const size_t close = header_.find(')', open == std::string::npos ? 0 : open);
    if (key == std::string::npos || open == std::string::npos || close == std::string::npos) damaged("it has no shape");
    std::vector<int64_t> sizes;
    std::istringstream numbers(header_.substr(open + 1, close - open - 1));
    for (std::string number; std::getline(numbers, number, ',');) {
      number = without_spaces(number);
      if (number.empty()) continue;
      const auto size = parsed_number<uint32_t>(number);
      if (sizes.size() == kMaxDimensions || !size) damaged("its shape is impossible");
      sizes.push_back(*size);
    }
    return sizes;
  }

  std::string bytes_, where_, header_;
  size_t data_ = 0;
};

}  // namespace

MarianDecoder parse_marian_decoder(const std::string& text, const std::string& name) {
  MarianDecoder decoder;
  try {
    const YAML::Node root = parse_yaml(text, name);
    if (root.IsNull()) return decoder;
    if (!root.IsMap()) throw std::runtime_error(fmt::format("{}: has no lines \"key: value\"", name));
    decoder.models = texts_of(root, "models", name);
    decoder.vocabs = texts_of(root, "vocabs", name);
    decoder.shortlist = texts_of(root, "shortlist", name);
    decoder.beam_size = text_of(root, "beam-size", name);
    decoder.normalize = text_of(root, "normalize", name);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(error.what());
  }
  return decoder;
}

MarianDecoder read_marian_decoder(const std::string& path) {
  return parse_marian_decoder(read_regular_file(path, kMaxMarianSettings), path);
}

MarianFile read_marian_npz(const std::string& path) {
  const ZipArchive archive(path);
  MarianFile file;
  for (const std::string& record : archive.names()) {
    const size_t end = record.rfind(kArraySuffix);
    if (end == std::string::npos) continue;
    const std::string name = record.substr(0, end);
    const NumpyArray array(archive.read(record), fmt::format("{}: '{}'", path, name));
    if (name == kMarianSettings) {
      std::string text = array.as_text();
      if (text.size() > kMaxMarianSettings)
        throw std::runtime_error(
            fmt::format("{}: damaged ({} has {} bytes); restore the file", path, kMarianSettings, text.size()));
      if (!text.empty() && text.back() == '\0') text.pop_back();
      file.settings = read_flat_yaml(text);
    } else if (!begins_with(name, "special:")) {
      file.tensors.emplace_back(name, array.as_array());
    }
  }
  if (file.settings.empty())
    throw std::runtime_error(fmt::format("{}: no model of Marian (it has no {})", path, kMarianSettings));
  return file;
}

std::map<std::string, std::string> read_flat_yaml(const std::string& text) {
  std::map<std::string, std::string> values;
  std::string* list = nullptr;  // of the last key, where no value is beside it
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string content = without_spaces(line);
    if (list != nullptr && begins_with(content, "- ")) {
      *list += (list->empty() ? "" : ", ") + unquoted(content.substr(2));
      continue;
    }
    const size_t colon = line.find(':');
    if (colon == std::string::npos || line.front() == ' ' || line.front() == '#' || line.front() == '-') continue;
    std::string& value = values[line.substr(0, colon)];
    value = unquoted(line.substr(colon + 1));
    if (value == "[]") value.clear();
    list = value.empty() ? &value : nullptr;
  }
  return values;
}

std::vector<std::string> read_marian_vocabulary(const std::string& path, size_t rows) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending != ".yml" && ending != ".yaml" && ending != ".json") return pieces_of_lines(path, rows);
  // Either may have any of these endings: JSON is YAML, too.
  if (const Json json = read_json(path); json.is_object()) return pieces_of_json(json, path, rows);
  std::vector<std::string> pieces;
  std::istringstream lines(read_model_text(path));
  std::string line, long_piece;
  size_t place = 0;
  for (bool has_piece = false; std::getline(lines, line);) {
    ++place;
    if (line.empty() || line == "---" || line.front() == '#') continue;
    if (begins_with(line, "? ")) {
      long_piece = line.substr(2);
      has_piece = true;
      continue;
    }
    const size_t colon = has_piece ? 0 : line.rfind(':');
    const std::string number = colon == std::string::npos ? "" : without_spaces(line.substr(colon + 1));
    constexpr uint32_t kMostNumbers = 100'000'000;
    const auto id = parsed_number<uint32_t>(number);
    if (!id || *id >= kMostNumbers || (has_piece && line.front() != ':'))
      throw std::runtime_error(fmt::format("{}:{}: no piece with its number", path, place));
    const std::string piece = unquoted(has_piece ? long_piece : line.substr(0, colon));
    has_piece = false;
    if (*id < rows) give_number(pieces, *id, piece, path);
  }
  return pieces;
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute

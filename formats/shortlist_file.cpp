// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/shortlist_file.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/formats/model_checksums.h>
#include <transmute/formats/tensor_file.h>

#include <cstring>
#include <stdexcept>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

template <class Number>
Array array_of(const std::vector<Number>& numbers, NumberType type) {
  Array array({static_cast<int64_t>(numbers.size())}, type);
  if (!numbers.empty()) std::memcpy(array.data(), numbers.data(), array.bytes());
  return array;
}

template <class Number>
std::vector<Number> numbers_of(const NamedArrays& arrays, const char* name, NumberType type, const std::string& path) {
  for (const auto& [known, array] : arrays) {
    if (known != name || array.type() != type || array.dimensions() != 1) continue;
    std::vector<Number> numbers(static_cast<size_t>(array.count()));
    if (!numbers.empty()) std::memcpy(numbers.data(), array.data(), array.bytes());
    return numbers;
  }
  throw std::runtime_error(
      fmt::format("{}: is no shortlist: it has no list '{}' of {} numbers", path, name, name_of(type)));
}

}  // namespace

void add_shortlist(const std::string& folder, const Shortlist& shortlist) {
  const ShortlistTable& table = shortlist.table();
  ModelChecksums checksums(folder);
  checksums.set(kShortlistFile, write_tensor_file(path_in(folder, kShortlistFile),
                                                  {{"ends", array_of(table.ends, NumberType::int64)},
                                                   {"tokens", array_of(table.tokens, NumberType::int32)},
                                                   {"always", array_of(table.always, NumberType::int32)}}));
  checksums.save(folder);
}

std::shared_ptr<const Shortlist> load_shortlist(const std::string& folder, const Tokenizer& tokenizer) {
  const std::string path = path_in(folder, kShortlistFile);
  const ModelChecksums checksums(folder);
  if (!checksums.file_exists(kShortlistFile)) return nullptr;
  const NamedArrays arrays = read_tensor_file(path, one_by_one, {checksums.of(kShortlistFile)});
  ShortlistTable table;
  table.ends = numbers_of<int64_t>(arrays, "ends", NumberType::int64, path);
  table.tokens = numbers_of<int32_t>(arrays, "tokens", NumberType::int32, path);
  table.always = numbers_of<int32_t>(arrays, "always", NumberType::int32, path);
  try {
    return std::make_shared<Shortlist>(std::move(table), tokenizer);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: {}; restore the file or remove it", path, error.what()));
  }
}

}  // namespace v0
}  // namespace transmute

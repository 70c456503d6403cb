// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/state_dict.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/zip_archive.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string_view>

namespace transmute {
inline namespace v0 {

namespace {

constexpr std::string_view kArchiveBegin = "PK";
// The pickle of the number 0x1950a86a20f9469cfc6c.
constexpr std::string_view kOldLayoutBegin = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
constexpr int64_t kOldLayoutVersion = 1001;

// After the pickles of the old layout: for each storage, in the order of a list of their names, how many numbers it
// has in 8 bytes, and the numbers.
class ListedStorages : public PickledStorages {
 public:
  /// @param begin where the first one is in the file
  ListedStorages(const InputFile& file, uint64_t begin, const Pickle& dictionary, const Pickle& names) : file_(file) {
    if (names.root().kind != PickleKind::sequence) throw PickleError("it has no list of its storages");
    const std::map<std::string, Described> described = described_in(dictionary);
    for (size_t i = 0; i < names.root().values.size(); ++i) {
      const std::string& name = names.part(names.root(), i, PickleKind::text).text;
      const auto found = described.find(name);
      if (found == described.end()) throw PickleError(fmt::format("no tensor has the storage {}", name));
      const uint64_t bytes = check_size(name, begin, found->second);
      if (!places_.emplace(name, Place{begin + kCountBytes, bytes}).second)
        throw PickleError(fmt::format("it lists the storage {} twice", name));
      begin += kCountBytes + bytes;
    }
  }

  uint64_t size(const std::string& name) const override { return place(name).bytes; }
  void read(const std::string& name, void* to, uint64_t count) const override {
    if (count > place(name).bytes || file_.read(place(name).begin, to, count) < count) cut_short(name);
  }

 private:
  static constexpr uint64_t kCountBytes = sizeof(uint64_t);

  struct Described {
    uint64_t number_bytes;
    int64_t count;
  };
  struct Place {
    uint64_t begin, bytes;
  };

  [[noreturn]] static void cut_short(const std::string& name) {
    throw PickleError(fmt::format("the storage {} is cut short", name));
  }

  // Storages as the tensors name them, also those that are not read.
  static std::map<std::string, Described> described_in(const Pickle& dictionary) {
    std::map<std::string, Described> all;
    for (const PickleValue& value : dictionary.values()) {
      if (value.kind != PickleKind::storage) continue;
      const auto& name = dictionary.part(value, 2, PickleKind::text).text;
      const NumberType type = storage_type(dictionary.part(value, 1, PickleKind::global).text);
      const Described one{size_of(type), dictionary.part(value, 4, PickleKind::number).number};
      const Described& first = all.emplace(name, one).first->second;
      if (first.number_bytes != one.number_bytes || first.count != one.count)
        throw PickleError(fmt::format("its tensors differ about the storage {}", name));
    }
    return all;
  }

  uint64_t check_size(const std::string& name, uint64_t begin, const Described& described) const {
    uint64_t count = 0;
    if (file_.read(begin, &count, kCountBytes) < kCountBytes || file_.size() < begin + kCountBytes) cut_short(name);
    if (described.count < 0 || count != static_cast<uint64_t>(described.count))
      throw PickleError(fmt::format("the storage {} has {} numbers instead of {}", name, count, described.count));
    if (count > (file_.size() - begin - kCountBytes) / described.number_bytes) cut_short(name);
    return count * described.number_bytes;
  }

  const Place& place(const std::string& name) const {
    const auto found = places_.find(name);
    if (found == places_.end()) throw PickleError(fmt::format("it has no storage {}", name));
    return found->second;
  }

  const InputFile& file_;
  std::map<std::string, Place> places_;
};

// Facts about the machine that wrote the file. The sizes of C's types among them are of no account.
void check_byte_order(const Pickle& facts) {
  const std::vector<size_t>& items = facts.root().values;
  for (size_t i = 0; facts.root().kind == PickleKind::map && i + 1 < items.size(); i += 2)
    if (facts[items[i]].text == "little_endian" && facts[items[i + 1]].number == 0)
      throw PickleError("its numbers are big-endian");
}

using UseOfSaved = std::function<void(const Pickle&, PickledTensors&)>;

void read_old_layout(const std::string& path, PickleObjects objects, const UseOfSaved& use) {
  const InputFile file(path);
  std::string begin(std::min(file.size(), most_pickle_bytes(objects)), '\0');
  begin.resize(file.read(0, begin.data(), begin.size()));
  size_t at = kOldLayoutBegin.size();
  const auto next = [&](PickleObjects kept = PickleObjects::refused) {
    try {
      Pickle pickle(std::string_view(begin).substr(at), kept);
      at += pickle.size();
      return pickle;
    } catch (const PickleCutShort&) {
      if (file.size() > begin.size()) throw PickleError("it is too large to describe a model");
      throw;
    }
  };
  const Pickle version = next();
  if (version.root().kind != PickleKind::number || version.root().number != kOldLayoutVersion)
    throw PickleError(fmt::format("the file's layout is not version {}", kOldLayoutVersion));
  check_byte_order(next());
  const Pickle dictionary = next(objects), names = next();
  const ListedStorages storages(file, at, dictionary, names);
  PickledTensors tensors(dictionary, storages, StorageSharing::allowed);
  use(dictionary, tensors);
}

void read_archived(const std::string& path, PickleObjects objects, const UseOfSaved& use) {
  const ZipArchive archive(path);
  const ArchivedStorages storages(archive);
  const std::string bytes = storages.read_pickle(objects);
  const Pickle pickle(bytes, objects);
  PickledTensors tensors(pickle, storages, StorageSharing::allowed);
  use(pickle, tensors);
}

std::string begin_of(const std::string& path) {
  std::string begin(kOldLayoutBegin.size(), '\0');
  begin.resize(InputFile(path).read(0, begin.data(), begin.size()));
  return begin;
}

}  // namespace

bool is_saved(const std::string& path) {
  const std::string begin = begin_of(path);
  return begin == kOldLayoutBegin || begins_with(begin, kArchiveBegin);
}

void read_saved(const std::string& path, PickleObjects objects, const UseOfSaved& use) {
  const std::string begin = begin_of(path);
  if (begin == kOldLayoutBegin) return read_old_layout(path, objects, use);
  if (begins_with(begin, kArchiveBegin)) return read_archived(path, objects, use);
  throw std::runtime_error(fmt::format("{}: no file of torch.save; restore it", path));
}

NamedArrays tensors_of(const Pickle& pickle, const PickleValue& dictionary, PickledTensors& tensors) {
  if (dictionary.kind != PickleKind::map) throw PickleError("it is not a dictionary of tensors");
  NamedArrays arrays;
  for (size_t i = 0; i + 1 < dictionary.values.size(); i += 2) {
    const PickleValue &key = pickle[dictionary.values[i]], &value = pickle[dictionary.values[i + 1]];
    if (key.kind == PickleKind::text && value.kind == PickleKind::tensor)
      arrays.emplace_back(key.text, tensors.read(key.text, value));
  }
  return arrays;
}

NamedArrays read_state_dict(const std::string& path) {
  NamedArrays arrays;
  try {
    read_saved(path, PickleObjects::refused, [&](const Pickle& pickle, PickledTensors& tensors) {
      arrays = tensors_of(pickle, pickle.root(), tensors);
    });
  } catch (const PickleError& error) {
    throw std::runtime_error(
        fmt::format("{}: {}; restore the file, or save the tensors alone as model.safetensors", path, error.what()));
  }
  return arrays;
}

}  // namespace v0
}  // namespace transmute

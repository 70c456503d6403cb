// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/pickled_tensors.h>

#include <spdlog/fmt/fmt.h>

#include <cstring>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

constexpr const char* kPickleRecord = "data.pkl";

// A storage as a pickle names it: 'storage', type, name, device, count, and before PyTorch 1.6 None or (name of the
// part, begin, count), where it is a part of the storage that it names.
struct StorageView {
  std::string name;
  NumberType type;
  int64_t begin, count;
};

StorageView view_of(const Pickle& pickle, const PickleValue& storage, const PickledStorages& storages) {
  constexpr size_t kPartPlace = 5;
  StorageView view{pickle.part(storage, 2, PickleKind::text).text,
                   storage_type(pickle.part(storage, 1, PickleKind::global).text), 0, 0};
  view.count = static_cast<int64_t>(storages.size(view.name) / size_of(view.type));
  if (storage.values.size() <= kPartPlace || pickle[storage.values[kPartPlace]].kind == PickleKind::none) return view;
  const PickleValue& part = pickle.part(storage, kPartPlace, PickleKind::sequence);
  const int64_t begin = pickle.part(part, 1, PickleKind::number).number;
  const int64_t count = pickle.part(part, 2, PickleKind::number).number;
  if (begin < 0 || count < 0 || begin > view.count || count > view.count - begin)
    throw PickleError(fmt::format("a part reaches beyond its storage {}", view.name));
  view.begin = begin;
  view.count = count;
  return view;
}

std::vector<int64_t> dimensions(const Pickle& pickle, const PickleValue& sequence) {
  constexpr size_t kMostDimensions = 8;
  if (sequence.values.size() > kMostDimensions) throw PickleError("a tensor has too many dimensions");
  std::vector<int64_t> all;
  for (size_t i = 0; i < sequence.values.size(); ++i) {
    all.push_back(pickle.part(sequence, i, PickleKind::number).number);
    if (all.back() < 0) throw PickleError("a tensor has a negative size or stride");
  }
  return all;
}

// A tensor of its own has as many numbers as it reads; a view that repeats some could be larger than the file.
void check_reach(const std::string& name, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                 int64_t offset, const StorageView& view) {
  int64_t count = 1, last = offset;
  bool is_possible = offset >= 0 && sizes.size() == strides.size();
  for (size_t d = 0; is_possible && d < sizes.size(); ++d) {
    int64_t reach = 0;
    is_possible = !__builtin_mul_overflow(count, sizes[d], &count) &&
                  !__builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) &&
                  !__builtin_add_overflow(last, reach, &last);
  }
  if (!is_possible) throw PickleError(fmt::format("impossible shape of '{}'", name));
  if (count < 1 || count > view.count || last >= view.count)
    throw PickleError(fmt::format("'{}' reaches beyond its storage {}", name, view.name));
}

int64_t count_of(const std::vector<int64_t>& sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

bool is_contiguous(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  int64_t expected = 1;
  for (size_t d = sizes.size(); d-- > 0; expected *= sizes[d])
    if (sizes[d] > 1 && strides[d] != expected) return false;
  return true;
}

// Bounds were checked by check_reach.
Array strided_copy(const Array& numbers, int64_t begin, const std::vector<int64_t>& sizes,
                   const std::vector<int64_t>& strides) {
  Array copy(sizes, numbers.type());
  const size_t bytes = size_of(numbers.type());
  const auto* from = static_cast<const char*>(numbers.data());
  auto* to = static_cast<char*>(copy.data());
  std::vector<int64_t> index(sizes.size(), 0);
  int64_t at = begin;
  for (int64_t i = 0; i < copy.count(); ++i, to += bytes) {
    std::memcpy(to, from + static_cast<size_t>(at) * bytes, bytes);
    for (size_t d = sizes.size(); d-- > 0;) {
      if (sizes[d] == 1) continue;  // its stride may be any number
      at += strides[d];
      if (++index[d] < sizes[d]) break;
      at -= sizes[d] * strides[d];
      index[d] = 0;
    }
  }
  return copy;
}

}  // namespace

std::string ArchivedStorages::read_pickle(PickleObjects objects) const {
  if (archive_.has("byteorder") && archive_.read("byteorder") != "little")
    throw PickleError("its numbers are big-endian");
  if (archive_.size(kPickleRecord) > most_pickle_bytes(objects))
    throw PickleError("it is too large to describe a model");
  return archive_.read(kPickleRecord);
}

NumberType storage_type(const std::string& storage_class) {
  for (const auto& [name, type] : {std::pair{"torch FloatStorage", NumberType::float32},
                                   {"torch DoubleStorage", NumberType::float64},
                                   {"torch HalfStorage", NumberType::float16},
                                   {"torch BFloat16Storage", NumberType::bfloat16},
                                   {"torch LongStorage", NumberType::int64},
                                   {"torch IntStorage", NumberType::int32},
                                   {"torch ShortStorage", NumberType::int16},
                                   {"torch CharStorage", NumberType::int8},
                                   {"torch ByteStorage", NumberType::uint8},
                                   {"torch BoolStorage", NumberType::boolean}})
    if (storage_class == name) return type;
  throw PickleError(fmt::format("it has a tensor of the type '{}'", storage_class));
}

PickledTensors::ReadStorage& PickledTensors::read_storage(const std::string& name, const std::string& storage,
                                                          NumberType type) {
  ReadStorage& read = read_[storage];
  if (read.numbers.defined() && (sharing_ == StorageSharing::refused || read.numbers.type() != type))
    throw PickleError(fmt::format("'{}' shares its storage {} with another", name, storage));
  if (read.numbers.defined()) return read;
  read.numbers = Array({static_cast<int64_t>(storages_.size(storage) / size_of(type))}, type);
  storages_.read(storage, read.numbers.data(), read.numbers.bytes());
  if (!all_finite(read.numbers.data(), static_cast<size_t>(read.numbers.count()), type))
    throw PickleError(fmt::format("'{}' has numbers that are infinite or not numbers", name));
  return read;
}

// storage, offset, sizes, strides, …
Array PickledTensors::read(const std::string& name, const PickleValue& tensor) {
  const StorageView view = view_of(pickle_, pickle_.part(tensor, 0, PickleKind::storage), storages_);
  const int64_t offset = pickle_.part(tensor, 1, PickleKind::number).number;
  const std::vector<int64_t> sizes = dimensions(pickle_, pickle_.part(tensor, 2, PickleKind::sequence));
  const std::vector<int64_t> strides = dimensions(pickle_, pickle_.part(tensor, 3, PickleKind::sequence));
  check_reach(name, sizes, strides, offset, view);
  ReadStorage& storage = read_storage(name, view.name, view.type);
  const int64_t begin = view.begin + offset;
  if (is_contiguous(sizes, strides)) return storage.numbers.rows(begin, count_of(sizes)).reshaped(sizes);
  // Tensors of one storage could otherwise take any amount of memory.
  constexpr int64_t kMostCopies = 4;
  storage.copied += count_of(sizes);
  if (storage.copied / kMostCopies > storage.numbers.count())
    throw PickleError(fmt::format("'{}' and others repeat their storage {} too often", name, view.name));
  return strided_copy(storage.numbers, begin, sizes, strides);
}

}  // namespace v0
}  // namespace transmute

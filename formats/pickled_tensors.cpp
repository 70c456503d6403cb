// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/pickled_tensors.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/formats/finite.h>
#include <transmute/libtorch/libtorch.h>

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
  torch::Dtype dtype;
  int64_t begin, count;
};

StorageView view_of(const Pickle& pickle, const PickleValue& storage, const PickledStorages& storages) {
  constexpr size_t kPartPlace = 5;
  StorageView view{pickle.part(storage, 2, PickleKind::text).text,
                   storage_dtype(pickle.part(storage, 1, PickleKind::global).text), 0, 0};
  view.count = static_cast<int64_t>(storages.size(view.name) / c10::elementSize(view.dtype));
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

}  // namespace

std::string ArchivedStorages::read_pickle() const {
  if (archive_.has("byteorder") && archive_.read("byteorder") != "little")
    throw PickleError("its numbers are big-endian");
  if (archive_.size(kPickleRecord) > kMaxPickleBytes) throw PickleError("it is too large to describe a model");
  return archive_.read(kPickleRecord);
}

torch::Dtype storage_dtype(const std::string& storage_class) {
  for (const auto& [name, dtype] : {std::pair{"torch FloatStorage", torch::kFloat},
                                    {"torch DoubleStorage", torch::kDouble},
                                    {"torch HalfStorage", torch::kHalf},
                                    {"torch BFloat16Storage", torch::kBFloat16},
                                    {"torch LongStorage", torch::kLong},
                                    {"torch IntStorage", torch::kInt},
                                    {"torch ShortStorage", torch::kShort},
                                    {"torch CharStorage", torch::kChar},
                                    {"torch ByteStorage", torch::kByte},
                                    {"torch BoolStorage", torch::kBool}})
    if (storage_class == name) return dtype;
  throw PickleError(fmt::format("it has a tensor of the type '{}'", storage_class));
}

// storage, offset, sizes, strides, …
torch::Tensor PickledTensors::read(const std::string& name, const PickleValue& tensor) {
  const StorageView view = view_of(pickle_, pickle_.part(tensor, 0, PickleKind::storage), storages_);
  const int64_t offset = pickle_.part(tensor, 1, PickleKind::number).number;
  const std::vector<int64_t> sizes = dimensions(pickle_, pickle_.part(tensor, 2, PickleKind::sequence));
  const std::vector<int64_t> strides = dimensions(pickle_, pickle_.part(tensor, 3, PickleKind::sequence));
  check_reach(name, sizes, strides, offset, view);
  torch::Tensor& data = read_[view.name];
  if (data.defined() && (sharing_ == StorageSharing::refused || data.scalar_type() != view.dtype))
    throw PickleError(fmt::format("'{}' shares its storage {} with another", name, view.name));
  if (!data.defined()) {
    const auto count = static_cast<int64_t>(storages_.size(view.name) / c10::elementSize(view.dtype));
    data = torch::empty({count}, view.dtype);
    storages_.read(view.name, data.data_ptr(), data.nbytes());
    if (!all_finite(data.data_ptr(), static_cast<size_t>(count), view.dtype))
      throw PickleError(fmt::format("'{}' has numbers that are infinite or not numbers", name));
  }
  return data.as_strided(sizes, strides, view.begin + offset);
}

}  // namespace v0
}  // namespace transmute

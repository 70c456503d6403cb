// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/zip_archive.h>
#include <transmute/formats/pickle.h>
#include <transmute/network/array.h>

#include <cstdint>
#include <map>
#include <string>

namespace transmute {
inline namespace v0 {

/// The places of the numbers of a pickle's tensors, which may share them.
class PickledStorages {
 public:
  virtual ~PickledStorages() = default;
  /// Bytes of a storage, all of which are in the file.
  /// @throws std::runtime_error if there is none of that name
  virtual uint64_t size(const std::string& name) const = 0;
  /// The first `count` bytes.
  virtual void read(const std::string& name, void* to, uint64_t count) const = 0;
};

/// Storages that are the records of an archive.
class ArchivedStorages : public PickledStorages {
 public:
  explicit ArchivedStorages(const ZipArchive& archive) : archive_(archive) {}

  /// The pickle that describes what is in them.
  /// @throws PickleError if it is too large, or the numbers are big-endian
  std::string read_pickle(PickleObjects objects = PickleObjects::refused) const;

  uint64_t size(const std::string& name) const override { return archive_.size("data/" + name); }
  void read(const std::string& name, void* to, uint64_t count) const override {
    archive_.read_into("data/" + name, to, count);
  }

 private:
  const ZipArchive& archive_;
};

enum class StorageSharing { refused, allowed };

/// The type of the numbers in a storage of the class, which is called as in "torch FloatStorage".
/// @throws PickleError if they can be in no tensor here
NumberType storage_type(const std::string& storage_class);

/// Makes the tensors that a pickle describes. Those that are contiguous in their storage share its memory. Everything
/// is checked against the storages' sizes before memory is taken.
class PickledTensors {
 public:
  PickledTensors(const Pickle& pickle, const PickledStorages& storages, StorageSharing sharing)
      : pickle_(pickle), storages_(storages), sharing_(sharing) {}

  /// @param name what messages call the tensor
  /// @throws PickleError if it is not described as PyTorch does it or has infinite numbers, and std::runtime_error
  /// as the storages do
  Array read(const std::string& name, const PickleValue& tensor);

 private:
  const Pickle& pickle_;
  const PickledStorages& storages_;
  StorageSharing sharing_;
  struct ReadStorage {
    Array numbers;
    int64_t copied = 0;  // numbers, into tensors that are not contiguous in it
  };
  ReadStorage& read_storage(const std::string& name, const std::string& storage, NumberType type);

  std::map<std::string, ReadStorage> read_;
};

}  // namespace v0
}  // namespace transmute

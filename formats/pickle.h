// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A fault of a pickle: something that it may not have, or that it lacks. It does not name the file.
class PickleError : public std::runtime_error {
 public:
  explicit PickleError(const std::string& what) : std::runtime_error("its pickle: " + what) {}
};

/// Thrown where a pickle needs more bytes than there are.
class PickleCutShort : public PickleError {
 public:
  PickleCutShort() : PickleError("it is cut short") {}
};

enum class PickleKind { none, number, real, text, sequence, map, global, module, object, storage, tensor };

/// The treatment of objects of classes and of results of functions in Python, which a model does not need.
enum class PickleObjects {
  refused,
  kept  ///< as records of the class's or function's name and of the attributes; a program's settings are one
};

/// Limit for the bytes of a model's pickle: some 100 for each tensor. A vocabulary that is kept in it, such as
/// OpenNMT-py's with the counts of all words of a corpus, has some 20 for each word.
constexpr uint64_t most_pickle_bytes(PickleObjects objects) {
  return objects == PickleObjects::kept ? 64 << 20 : 4 << 20;
}

/// Values refer to others by their place in a list of all: a pickle may refer to itself.
struct PickleValue {
  PickleKind kind = PickleKind::none;
  int64_t number = 0;
  std::string text;            ///< name of a global or an object: "module name"
  std::vector<size_t> values;  ///< a map's entries, or an object's attributes: key, value, key, value …
  double real = 0;             ///< value of a number with a fraction
};

/// A pickle as data: the part of pickle's machine (Python's Lib/pickletools.py describes it) that LibTorch writes
/// modules and Python dictionaries of tensors with. Names of functions and classes are text here; nothing is looked up
/// or called.
class Pickle {
 public:
  /// Reads the pickle that `bytes` begin with; there may be more after it.
  /// @throws PickleError
  explicit Pickle(std::string_view bytes, PickleObjects objects = PickleObjects::refused);

  const PickleValue& root() const { return values_[root_]; }
  const PickleValue& operator[](size_t value) const { return values_[value]; }
  const std::vector<PickleValue>& values() const { return values_; }
  /// Number of bytes that the pickle takes.
  size_t size() const { return at_; }

  /// The part of a storage or a tensor in a place.
  /// @throws PickleError if it has nothing there, or a value of another kind
  const PickleValue& part(const PickleValue& whole, size_t place, PickleKind kind) const;
  /// The value that a map has for the key, or an object as an attribute; null if there is none or `whole` is
  /// neither.
  const PickleValue* member(const PickleValue& whole, std::string_view key) const;

 private:
  std::string_view take(size_t count);
  int64_t little_endian(size_t count, bool is_signed = false);
  double big_endian_real();
  std::string_view line();
  bool push(PickleValue value);
  bool push_number(int64_t number) { return push({PickleKind::number, number, {}, {}}); }
  bool push_sequence(std::vector<size_t> values) { return push({PickleKind::sequence, 0, {}, std::move(values)}); }
  bool push_last(size_t count);
  bool push_global();
  bool push_object();
  bool push_storage();
  size_t pop();
  PickleValue& top(PickleKind kind);
  std::vector<size_t> pop_to_mark();
  std::vector<size_t> copy_of(size_t value);
  bool append(PickleKind kind, const std::vector<size_t>& values);
  bool remember(size_t name);
  bool recall(size_t name);
  bool build();
  bool reduce();
  bool step(unsigned char operation);

  std::string_view bytes_;
  PickleObjects objects_;
  size_t at_ = 0;
  std::vector<PickleValue> values_;
  size_t root_ = 0;
  std::vector<size_t> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::map<size_t, size_t> memo_;
  size_t copied_ = 0;  // values
};

}  // namespace v0
}  // namespace transmute

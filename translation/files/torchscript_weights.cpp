// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/files/finite.h>
#include <transmute/translation/files/torchscript_weights.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/model/libtorch.h>

#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr const char* kPickle = "data.pkl";
constexpr uint64_t kMaxPickleBytes = 4 << 20;  // some 100 bytes for each tensor
constexpr int kMaxModuleDepth = 32;
constexpr const char* kConstantTable = "sinusoids";  // a buffer, which the config determines

[[noreturn]] void refuse(const std::string& what) {
  throw std::runtime_error(fmt::format("{}: {}", kPickle, what));
}

enum class PickleKind { none, number, text, sequence, map, global, module, storage, tensor };

// Values refer to others by their place in a list of all: a pickle may refer to itself.
struct PickleValue {
  PickleKind kind = PickleKind::none;
  int64_t number = 0;
  std::string text;            // of a global: "module name"
  std::vector<size_t> values;  // of a map: key, value, key, value …
};

// The part of pickle's machine that LibTorch writes modules with (Python's Lib/pickletools.py describes it). Names of
// functions and classes are text here; nothing is looked up or called.
class RecordUnpickler {
 public:
  explicit RecordUnpickler(const std::string& bytes) : bytes_(bytes) { values_.emplace_back(); }

  size_t run() {
    while (step(static_cast<unsigned char>(take(1)[0]))) {
    }
    return pop();
  }

  const PickleValue& operator[](size_t value) const { return values_[value]; }

 private:
  std::string_view take(size_t count) {
    if (count > bytes_.size() - at_) refuse("it is cut short");
    at_ += count;
    return std::string_view(bytes_).substr(at_ - count, count);
  }

  int64_t little_endian(size_t count, bool is_signed = false) {
    uint64_t number = 0;
    const std::string_view bytes = take(count);
    if (count > sizeof(number)) refuse("it has a number of more than 64 bits");
    for (size_t i = 0; i < count; ++i) number |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    if (is_signed && count > 0 && count < sizeof(number) && (bytes[count - 1] & 0x80) != 0)
      number |= ~uint64_t{0} << (8 * count);
    return static_cast<int64_t>(number);
  }

  std::string_view line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string::npos) refuse("it is cut short");
    return take(end - at_ + 1);  // with the line end
  }

  bool push(PickleValue value) {
    stack_.push_back(values_.size());
    values_.push_back(std::move(value));
    return true;
  }

  bool push_number(int64_t number) { return push({PickleKind::number, number, {}, {}}); }

  size_t pop() {
    if (stack_.empty() || (!marks_.empty() && marks_.back() >= stack_.size())) refuse("its stack is empty");
    const size_t value = stack_.back();
    stack_.pop_back();
    return value;
  }

  PickleValue& top(PickleKind kind) {
    const size_t value = pop();
    stack_.push_back(value);
    if (values_[value].kind != kind) refuse("a value is not of the kind that its place needs");
    return values_[value];
  }

  // What was pushed since the last mark.
  std::vector<size_t> pop_to_mark() {
    if (marks_.empty()) refuse("it has a mark too few");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<size_t> values(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return values;
  }

  // What a value holds. A pickle that says each thing once copies fewer than its bytes; one that copies a long list
  // over and over would take memory without end.
  std::vector<size_t> copy_of(size_t value) {
    copied_ += values_[value].values.size();
    if (copied_ > bytes_.size()) refuse("its values refer to one another too often");
    return values_[value].values;
  }

  bool push_sequence(std::vector<size_t> values) { return push({PickleKind::sequence, 0, {}, std::move(values)}); }

  bool push_last(size_t count) {
    std::vector<size_t> values(count);
    for (size_t i = count; i-- > 0;) values[i] = pop();
    return push_sequence(std::move(values));
  }

  bool append(PickleKind kind, const std::vector<size_t>& values) {
    if (kind == PickleKind::map && values.size() % 2 != 0) refuse("a key has no value");
    auto& all = top(kind).values;
    all.insert(all.end(), values.begin(), values.end());
    return true;
  }

  bool remember(size_t name) {
    memo_[name] = pop();
    stack_.push_back(memo_[name]);
    return true;
  }

  bool recall(size_t name) {
    const auto found = memo_.find(name);
    if (found == memo_.end()) refuse("it refers to a value that it does not have");
    stack_.push_back(found->second);
    return true;
  }

  bool push_global() {
    std::string name(line());
    name.back() = ' ';
    name += line();
    name.pop_back();
    return push({PickleKind::global, 0, std::move(name), {}});
  }

  // A module without its attributes; `build` gives it them.
  bool push_module() {
    pop();  // no arguments
    const std::string name = top(PickleKind::global).text;
    if (name.rfind("__torch__.", 0) != 0) refuse(fmt::format("it has an object of the class '{}'", name));
    pop();
    return push({PickleKind::module, 0, {}, {}});
  }

  // A module's attributes, or what a dictionary has beside its content, which is ignored.
  bool build() {
    const size_t state = pop();
    if (values_[state].kind != PickleKind::map) refuse("a module's state is not a map");
    const size_t object = pop();
    stack_.push_back(object);
    if (values_[object].kind == PickleKind::map) return true;
    std::vector<size_t> attributes = copy_of(state);
    top(PickleKind::module).values = std::move(attributes);
    return true;
  }

  bool reduce() {
    const size_t arguments = pop();
    const std::string function = top(PickleKind::global).text;
    pop();
    if (values_[arguments].kind != PickleKind::sequence) refuse("a function's arguments are not a tuple");
    if (function == "collections OrderedDict") return push({PickleKind::map, 0, {}, {}});
    if (function == "torch.jit._pickle build_intlist") return push({});  // of the code, which is not run
    if (function != "torch._utils _rebuild_tensor_v2") refuse(fmt::format("it calls '{}'", function));
    return push({PickleKind::tensor, 0, {}, copy_of(arguments)});
  }

  bool push_storage() {
    top(PickleKind::sequence);
    return push({PickleKind::storage, 0, {}, copy_of(pop())});
  }

  // False at the end.
  bool step(unsigned char operation) {
    switch (operation) {
      case 0x80:  // PROTO
        return take(1)[0] == 2 || (refuse("its protocol is not 2"), false);
      case '.':
        return false;
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case 'c':
        return push_global();
      case 'N':
        return push({});
      case 0x88:  // NEWTRUE
        return push_number(1);
      case 0x89:  // NEWFALSE
        return push_number(0);
      case 'K':
        return push_number(little_endian(1));
      case 'M':
        return push_number(little_endian(2));
      case 'J':
        return push_number(little_endian(4, true));
      case 0x8a:  // LONG1
        return push_number(little_endian(static_cast<size_t>(little_endian(1)), true));
      case 'G':
        take(8);  // numbers of the code, which is not run
        return push({});
      case 'X':
        return push({PickleKind::text, 0, std::string(take(static_cast<size_t>(little_endian(4)))), {}});
      case ')':
      case ']':
        return push_sequence({});
      case 't':
        return push_sequence(pop_to_mark());
      case 0x85:  // TUPLE1
      case 0x86:
      case 0x87:
        return push_last(operation - 0x84U);
      case 'a':
        return append(PickleKind::sequence, {pop()});
      case 'e':
        return append(PickleKind::sequence, pop_to_mark());
      case '}':
        return push({PickleKind::map, 0, {}, {}});
      case 'u':
        return append(PickleKind::map, pop_to_mark());
      case 's': {
        const size_t value = pop();
        const size_t key = pop();
        return append(PickleKind::map, {key, value});
      }
      case 'q':
        return remember(static_cast<size_t>(little_endian(1)));
      case 'r':
        return remember(static_cast<size_t>(little_endian(4)));
      case 'h':
        return recall(static_cast<size_t>(little_endian(1)));
      case 'j':
        return recall(static_cast<size_t>(little_endian(4)));
      case 0x81:  // NEWOBJ
        return push_module();
      case 'b':
        return build();
      case 'R':
        return reduce();
      case 'Q':
        return push_storage();
      default:
        refuse(fmt::format("it has the operation 0x{:02x}, which no exported model needs", operation));
    }
  }

  const std::string& bytes_;
  size_t at_ = 0;
  std::vector<PickleValue> values_;
  std::vector<size_t> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::map<size_t, size_t> memo_;
  size_t copied_ = 0;  // values
};

torch::Dtype storage_dtype(const std::string& name) {
  if (name == "torch FloatStorage") return torch::kFloat;
  if (name == "torch DoubleStorage") return torch::kDouble;
  if (name == "torch HalfStorage") return torch::kHalf;
  if (name == "torch BFloat16Storage") return torch::kBFloat16;
  refuse(fmt::format("it has a tensor of the type '{}'", name));
}

enum class RecordSharing { refused, allowed };

class ParameterReader {
 public:
  ParameterReader(const ZipArchive& archive, const RecordUnpickler& values, uint64_t most,
                  RecordSharing sharing = RecordSharing::refused)
      : archive_(archive), values_(values), visits_left_(most), sharing_(sharing) {}

  void read_dictionary(size_t dictionary) {
    const auto& items = values_[dictionary].values;
    for (size_t i = 0; i + 1 < items.size(); i += 2)
      if (values_[items[i]].kind == PickleKind::text && values_[items[i + 1]].kind == PickleKind::tensor)
        read_tensor(values_[items[i]].text, values_[items[i + 1]]);
  }

  void read_module(const std::string& prefix, size_t module, int depth) {
    if (depth > kMaxModuleDepth) refuse("its modules are nested too deeply");
    const auto& attributes = values_[module].values;
    for (size_t a = 0; a + 1 < attributes.size(); a += 2) {
      // A pickle that says each thing once has fewer than its bytes.
      if (visits_left_-- == 0) refuse("its modules refer to one another too often");
      const PickleValue& key = values_[attributes[a]];
      if (key.kind != PickleKind::text) refuse("an attribute has no name");
      const std::string name = prefix + key.text;
      const PickleKind kind = values_[attributes[a + 1]].kind;
      if (kind == PickleKind::module) read_module(name + ".", attributes[a + 1], depth + 1);
      if (kind == PickleKind::tensor && key.text != kConstantTable) read_tensor(name, values_[attributes[a + 1]]);
    }
  }

  NamedTensors tensors;

 private:
  const PickleValue& part(const PickleValue& whole, size_t place, PickleKind kind) const {
    if (place >= whole.values.size() || values_[whole.values[place]].kind != kind)
      refuse("a tensor is not described as LibTorch does it");
    return values_[whole.values[place]];
  }

  std::vector<int64_t> numbers(const PickleValue& sequence) const {
    constexpr size_t kMostDimensions = 8;
    if (sequence.values.size() > kMostDimensions) refuse("a tensor has too many dimensions");
    std::vector<int64_t> all;
    for (size_t i = 0; i < sequence.values.size(); ++i) {
      all.push_back(part(sequence, i, PickleKind::number).number);
      if (all.back() < 0) refuse("a tensor has a negative size or stride");
    }
    return all;
  }

  // storage, offset, sizes, strides, …; a storage is 'storage', type, record, device, count.
  void read_tensor(const std::string& name, const PickleValue& tensor) {
    const PickleValue& storage = part(tensor, 0, PickleKind::storage);
    const torch::Dtype dtype = storage_dtype(part(storage, 1, PickleKind::global).text);
    const std::string record = "data/" + part(storage, 2, PickleKind::text).text;
    const int64_t offset = part(tensor, 1, PickleKind::number).number;
    const std::vector<int64_t> sizes = numbers(part(tensor, 2, PickleKind::sequence));
    const std::vector<int64_t> strides = numbers(part(tensor, 3, PickleKind::sequence));
    const auto stored = static_cast<int64_t>(archive_.size(record) / c10::elementSize(dtype));
    if (offset < 0 || sizes.size() != strides.size()) refuse(fmt::format("impossible shape of '{}'", name));
    // A tensor of its own has as many numbers as it reads; a view that repeats some could be larger than the file.
    int64_t count = 1, last = offset;
    for (size_t d = 0; d < sizes.size(); ++d) {
      int64_t reach = 0;
      if (__builtin_mul_overflow(count, sizes[d], &count) || __builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) ||
          __builtin_add_overflow(last, reach, &last))
        refuse(fmt::format("impossible shape of '{}'", name));
    }
    if (count < 1 || count > stored || last >= stored)
      refuse(fmt::format("'{}' reaches beyond its record {}", name, record));
    torch::Tensor& data = records_[record];
    if (data.defined() && (sharing_ == RecordSharing::refused || data.scalar_type() != dtype))
      refuse(fmt::format("'{}' shares its record {} with another", name, record));
    if (!data.defined()) {
      data = torch::empty({stored}, dtype);
      archive_.read_into(record, data.data_ptr(), data.nbytes());
      if (!all_finite(data.data_ptr(), static_cast<size_t>(stored), dtype))
        refuse(fmt::format("'{}' has numbers that are infinite or not numbers", name));
    }
    tensors.emplace_back(name, data.as_strided(sizes, strides, offset));
  }

  const ZipArchive& archive_;
  const RecordUnpickler& values_;
  uint64_t visits_left_;
  RecordSharing sharing_;
  std::map<std::string, torch::Tensor> records_;
};

std::string read_pickle(const ZipArchive& archive) {
  if (archive.has("byteorder") && archive.read("byteorder") != "little") refuse("its numbers are big-endian");
  if (archive.size(kPickle) > kMaxPickleBytes) refuse("it is too large to describe a model");
  return archive.read(kPickle);
}

}  // namespace

NamedTensors read_torchscript_parameters(const ZipArchive& archive) {
  const std::string bytes = read_pickle(archive);
  RecordUnpickler values(bytes);
  const size_t root = values.run();
  if (values[root].kind != PickleKind::module) refuse("it is not a module");
  ParameterReader reader(archive, values, bytes.size());
  reader.read_module("", root, 0);
  return std::move(reader.tensors);
}

NamedTensors read_state_dict(const ZipArchive& archive) {
  const std::string bytes = read_pickle(archive);
  RecordUnpickler values(bytes);
  const size_t root = values.run();
  if (values[root].kind != PickleKind::map) refuse("it is not a dictionary of tensors");
  ParameterReader reader(archive, values, bytes.size(), RecordSharing::allowed);
  reader.read_dictionary(root);
  return std::move(reader.tensors);
}

}  // namespace v0
}  // namespace transmute

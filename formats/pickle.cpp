// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/pickle.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>

#include <cstring>

namespace transmute {
inline namespace v0 {

namespace {

// Some 20 for each tensor. A value takes 80 bytes of memory; each further one, as of a large vocabulary, needs 8 bytes
// of the file.
constexpr size_t kMostValues = 1 << 20, kBytesOfFurtherValue = 8;

[[noreturn]] void refuse_pickle(const std::string& what) {
  throw PickleError(what);
}

}  // namespace

Pickle::Pickle(std::string_view bytes, PickleObjects objects) : bytes_(bytes), objects_(objects) {
  values_.emplace_back();
  while (step(static_cast<unsigned char>(take(1)[0]))) {
  }
  root_ = pop();
}

const PickleValue& Pickle::part(const PickleValue& whole, size_t place, PickleKind kind) const {
  if (place >= whole.values.size() || values_[whole.values[place]].kind != kind)
    refuse_pickle("a tensor is not described as PyTorch does it");
  return values_[whole.values[place]];
}

const PickleValue* Pickle::member(const PickleValue& whole, std::string_view key) const {
  if (whole.kind != PickleKind::map && whole.kind != PickleKind::object) return nullptr;
  for (size_t i = 0; i + 1 < whole.values.size(); i += 2)
    if (const PickleValue& name = values_[whole.values[i]]; name.kind == PickleKind::text && name.text == key)
      return &values_[whole.values[i + 1]];
  return nullptr;
}

std::string_view Pickle::take(size_t count) {
  if (count > bytes_.size() - at_) throw PickleCutShort();
  at_ += count;
  return bytes_.substr(at_ - count, count);
}

int64_t Pickle::little_endian(size_t count, bool is_signed) {
  uint64_t number = 0;
  const std::string_view bytes = take(count);
  if (count > sizeof(number)) refuse_pickle("it has a number of more than 64 bits");
  for (size_t i = 0; i < count; ++i) number |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  if (is_signed && count > 0 && count < sizeof(number) && (bytes[count - 1] & 0x80) != 0)
    number |= ~uint64_t{0} << (8 * count);
  return static_cast<int64_t>(number);
}

double Pickle::big_endian_real() {
  uint64_t bits = 0;
  for (const char byte : take(sizeof(bits))) bits = bits << 8 | static_cast<unsigned char>(byte);
  double real = 0;
  std::memcpy(&real, &bits, sizeof(real));
  return real;
}

std::string_view Pickle::line() {
  const size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) throw PickleCutShort();
  return take(end - at_ + 1);  // with the line end
}

bool Pickle::push(PickleValue value) {
  if (values_.size() >= kMostValues + bytes_.size() / kBytesOfFurtherValue)
    refuse_pickle("it has too many values to describe a model");
  stack_.push_back(values_.size());
  values_.push_back(std::move(value));
  return true;
}

size_t Pickle::pop() {
  if (stack_.empty() || (!marks_.empty() && marks_.back() >= stack_.size())) refuse_pickle("its stack is empty");
  const size_t value = stack_.back();
  stack_.pop_back();
  return value;
}

PickleValue& Pickle::top(PickleKind kind) {
  const size_t value = pop();
  stack_.push_back(value);
  if (values_[value].kind != kind) refuse_pickle("a value is not of the kind that its place needs");
  return values_[value];
}

// Takes off what was pushed since the last mark.
std::vector<size_t> Pickle::pop_to_mark() {
  if (marks_.empty()) refuse_pickle("it has a mark too few");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<size_t> values(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return values;
}

// The content of a value. A pickle that says each thing once copies fewer than its bytes; one that copies a long list
// over and over would take memory without end.
std::vector<size_t> Pickle::copy_of(size_t value) {
  copied_ += values_[value].values.size();
  if (copied_ > bytes_.size()) refuse_pickle("its values refer to one another too often");
  return values_[value].values;
}

bool Pickle::push_last(size_t count) {
  std::vector<size_t> values(count);
  for (size_t i = count; i-- > 0;) values[i] = pop();
  return push_sequence(std::move(values));
}

bool Pickle::append(PickleKind kind, const std::vector<size_t>& values) {
  if (kind == PickleKind::map && values.size() % 2 != 0) refuse_pickle("a key has no value");
  if (!stack_.empty() && values_[stack_.back()].kind == PickleKind::object) return true;  // its content has no meaning
  auto& all = top(kind).values;
  all.insert(all.end(), values.begin(), values.end());
  return true;
}

bool Pickle::remember(size_t name) {
  memo_[name] = pop();
  stack_.push_back(memo_[name]);
  return true;
}

bool Pickle::recall(size_t name) {
  const auto found = memo_.find(name);
  if (found == memo_.end()) refuse_pickle("it refers to a value that it does not have");
  stack_.push_back(found->second);
  return true;
}

bool Pickle::push_global() {
  std::string name(line());
  name.back() = ' ';
  name += line();
  name.pop_back();
  return push({PickleKind::global, 0, std::move(name), {}});
}

// A module or another object without its attributes; `build` gives it them.
bool Pickle::push_object() {
  pop();  // no arguments
  std::string name = top(PickleKind::global).text;
  pop();
  if (objects_ == PickleObjects::kept) return push({PickleKind::object, 0, std::move(name), {}});
  if (!begins_with(name, "__torch__.")) refuse_pickle(fmt::format("it has an object of the class '{}'", name));
  return push({PickleKind::module, 0, {}, {}});
}

// A module's attributes, or what a dictionary has beside its content, which is ignored.
bool Pickle::build() {
  const size_t state = pop();
  const size_t object = pop();
  stack_.push_back(object);
  const bool is_object = values_[object].kind == PickleKind::object;
  if (is_object && values_[state].kind != PickleKind::map) return true;  // a state of the class's own making
  if (values_[state].kind != PickleKind::map) refuse_pickle("a module's state is not a map");
  if (values_[object].kind == PickleKind::map) return true;
  std::vector<size_t> attributes = copy_of(state);
  top(is_object ? PickleKind::object : PickleKind::module).values = std::move(attributes);
  return true;
}

bool Pickle::reduce() {
  const size_t arguments = pop();
  std::string function = top(PickleKind::global).text;
  pop();
  if (values_[arguments].kind != PickleKind::sequence) refuse_pickle("a function's arguments are not a tuple");
  if (function == "collections OrderedDict") return push({PickleKind::map, 0, {}, {}});
  if (function == "torch.jit._pickle build_intlist") return push({});  // of the code, which is not run
  if (function == "torch._utils _rebuild_tensor_v2") return push({PickleKind::tensor, 0, {}, copy_of(arguments)});
  if (objects_ == PickleObjects::refused) refuse_pickle(fmt::format("it calls '{}'", function));
  return push({PickleKind::object, 0, std::move(function), {}});  // what it would have made
}

bool Pickle::push_storage() {
  top(PickleKind::sequence);
  return push({PickleKind::storage, 0, {}, copy_of(pop())});
}

// False at the end.
bool Pickle::step(unsigned char operation) {
  switch (operation) {
    case 0x80:  // PROTO
      return take(1)[0] == 2 || (refuse_pickle("its protocol is not 2"), false);
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
      return push({PickleKind::real, 0, {}, {}, big_endian_real()});
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
      return push_object();
    case 'b':
      return build();
    case 'R':
      return reduce();
    case 'Q':
      return push_storage();
    default:
      refuse_pickle(fmt::format("it has the operation 0x{:02x}, which no model needs", operation));
  }
}

}  // namespace v0
}  // namespace transmute

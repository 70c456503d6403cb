// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/plural_forms.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace transmute {
inline namespace v0 {

namespace {

// The value of an expression of C for n = 1, with the operators that gettext's manual allows.
class PluralExpression {
 public:
  explicit PluralExpression(std::string_view text) : text_(text) {}

  int64_t value() { return choice(0); }

 private:
  void skip_spaces() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\\"), text_.size())); }

  bool take(std::string_view what) {
    skip_spaces();
    if (text_.compare(0, what.size(), what) != 0) return false;
    text_.remove_prefix(what.size());
    return true;
  }

  int64_t choice(size_t depth) {
    const int64_t condition = binary(0, depth);
    if (!take("?")) return condition;
    const int64_t yes = choice(depth + 1);
    if (!take(":")) throw std::invalid_argument("no colon");
    const int64_t no = choice(depth + 1);
    return condition != 0 ? yes : no;
  }

  // Operators by precedence, the weakest first; longer ones before those that they begin with.
  int64_t binary(size_t level, size_t depth) {
    static constexpr std::array<std::array<std::string_view, 4>, 6> kOperators{
        {{"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}}};
    if (level == kOperators.size()) return unary(depth);
    int64_t left = binary(level + 1, depth);
    while (true) {
      std::string_view found;
      for (const std::string_view sign : kOperators[level])
        if (found.empty() && !sign.empty() && take(sign)) found = sign;
      if (found.empty()) return left;
      left = applied(found, left, binary(level + 1, depth));
    }
  }

  static int64_t applied(std::string_view sign, int64_t left, int64_t right) {
    if (sign == "||") return static_cast<int64_t>(left != 0 || right != 0);
    if (sign == "&&") return static_cast<int64_t>(left != 0 && right != 0);
    if (sign == "==") return static_cast<int64_t>(left == right);
    if (sign == "!=") return static_cast<int64_t>(left != right);
    if (sign == "<=") return static_cast<int64_t>(left <= right);
    if (sign == ">=") return static_cast<int64_t>(left >= right);
    if (sign == "<") return static_cast<int64_t>(left < right);
    if (sign == ">") return static_cast<int64_t>(left > right);
    if (sign == "+") return checked(left + right);
    if (sign == "-") return checked(left - right);
    if (sign == "*") return checked(left * right);
    if (right == 0) throw std::invalid_argument("division by zero");
    return sign == "/" ? left / right : left % right;
  }

  static int64_t checked(int64_t value) {
    constexpr int64_t kMost = 1'000'000;
    if (value > kMost || value < -kMost) throw std::invalid_argument("too large");
    return value;
  }

  int64_t unary(size_t depth) {
    constexpr size_t kMostDepth = 50;
    if (depth > kMostDepth) throw std::invalid_argument("too deep");
    if (take("!")) return static_cast<int64_t>(unary(depth + 1) == 0);
    if (take("(")) {
      const int64_t value = choice(depth + 1);
      if (!take(")")) throw std::invalid_argument("no closing parenthesis");
      return value;
    }
    if (take("n")) return 1;
    skip_spaces();
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (error != std::errc()) throw std::invalid_argument("no number");
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return checked(number);
  }

  std::string_view text_;
};

std::optional<std::string_view> value_of(std::string_view line, std::string_view name) {
  const size_t begin = line.find(name);
  if (begin == std::string_view::npos) return std::nullopt;
  line.remove_prefix(begin + name.size());
  return line.substr(0, line.find(';'));
}

}  // namespace

PluralForms::PluralForms(const std::string& header) {
  const size_t begin = header.find("Plural-Forms:");
  if (begin == std::string::npos) return;
  const std::string_view line = std::string_view(header).substr(begin, header.find('\n', begin) - begin);
  const auto count = value_of(line, "nplurals="), plural = value_of(line, "plural=");
  try {
    if (!count || !plural) return;
    const int64_t forms = PluralExpression(*count).value();
    const int64_t singular = PluralExpression(*plural).value();
    if (forms < 1 || forms > static_cast<int64_t>(kMost) || singular < 0 || singular >= forms) return;
    count_ = static_cast<size_t>(forms);
    singular_ = static_cast<size_t>(singular);
  } catch (const std::invalid_argument&) {  // for example nplurals=INTEGER, in a template
  }
}

}  // namespace v0
}  // namespace transmute

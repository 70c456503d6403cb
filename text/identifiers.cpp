// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/identifiers.h>

#include <transmute/common/ascii_case.h>

#include <algorithm>
#include <array>

namespace transmute {
inline namespace v0 {

namespace {

constexpr std::string_view kOpeningBrackets = "[<({", kClosingBrackets = "]>)}";

bool is_one_of(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

// The end of a part of a synopsis: of a word, or of a group in brackets, which may have spaces within.
size_t synopsis_part_end(std::string_view line, size_t at) {
  size_t depth = 0;
  for (; at < line.size() && (depth > 0 || line[at] != ' '); ++at) {
    if (is_one_of(line[at], kOpeningBrackets)) ++depth;
    if (is_one_of(line[at], kClosingBrackets) && depth > 0) --depth;
  }
  return at;
}

bool is_joint(char c) {
  return is_one_of(c, "-:_/+");
}

template <class Is>
size_t skip_while(std::string_view text, size_t at, const Is& is) {
  while (at < text.size() && is(text[at])) ++at;
  return at;
}

// True for at least four letters of which all but the first are small, as in most words.
bool is_like_word(std::string_view letters) {
  constexpr size_t kLeast = 4;
  return letters.size() >= kLeast && std::all_of(letters.begin() + 1, letters.end(), is_ascii_small);
}

// These properties of a run of letters and digits tell identifiers from words.
struct Signs {
  size_t changes = 0;      // between letters and digits
  size_t digits = 0;       // of the longest run
  bool has_words = false;  // or letters like those of a word
};

Signs signs_of(std::string_view run) {
  Signs signs;
  for (size_t at = 0; at < run.size();) {
    const size_t digits_end = skip_while(run, at, is_ascii_digit);
    const size_t end = digits_end > at ? digits_end : skip_while(run, at, is_ascii_letter);
    signs.digits = std::max(signs.digits, digits_end - at);
    signs.has_words = signs.has_words || is_like_word(run.substr(at, end - at));
    if (end < run.size()) ++signs.changes;
    at = end;
  }
  return signs;
}

bool is_hexadecimal(std::string_view run) {
  const auto has_digits_to = [&](char a, char f) {
    return std::all_of(run.begin(), run.end(), [&](char c) { return is_ascii_digit(c) || (c >= a && c <= f); });
  };
  return has_digits_to('a', 'f') || has_digits_to('A', 'F');
}

// True for 14h30, 14h30min and the like.
bool is_time(std::string_view run) {
  const size_t hours = skip_while(run, 0, is_ascii_digit), minutes = skip_while(run, hours + 1, is_ascii_digit);
  return hours > 0 && hours <= 2 && hours < run.size() && run[hours] == 'h' && minutes == hours + 3 &&
         skip_while(run, minutes, is_ascii_small) == run.size();
}

bool is_identifier(std::string_view run) {
  constexpr size_t kLeast = 8, kLeastOfHash = 7, kManyDigits = 16, kManyChanges = 4;
  const Signs signs = signs_of(run);
  if (is_time(run)) return false;
  if (signs.digits >= kManyDigits || (signs.changes >= kManyChanges && run.size() >= kLeast)) return true;
  if (signs.changes < 2) return false;  // added1, 1000000e
  return is_hexadecimal(run) ? run.size() >= kLeastOfHash : run.size() >= kLeast && !signs.has_words;
}

// True for a run that no identifier contains. Groups of UUIDs may have letters alone.
bool is_ordinary(std::string_view run, const Signs& signs) {
  constexpr size_t kManyChanges = 4, kLongestGroup = 4;
  const bool is_group = is_hexadecimal(run) && (signs.digits > 0 || run.size() <= kLongestGroup);
  return is_time(run) || (signs.has_words && signs.changes < kManyChanges && !is_group);
}

// True for groups of one to four hexadecimal digits with colons between them, or of two with hyphens: the addresses of
// networks and their cards.
bool is_network_address(std::string_view text) {
  constexpr size_t kGroupsOfCard = 6, kGroupsOfNetwork = 8, kLongestGroup = 4;
  size_t groups = 0, longest = 0, gaps = 0;
  const size_t mark = text.find_first_of(":-");
  if (mark == std::string_view::npos || text.find_first_of("0123456789") == std::string_view::npos) return false;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(text[mark], at), text.size());
    const std::string_view group = text.substr(at, end - at);
    if (group.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) return false;
    if (group.empty()) ++gaps;
    longest = std::max(longest, group.size());
    ++groups;
    at = end + 1;
  }
  if (longest <= 2 && gaps == 0 && groups == kGroupsOfCard) return text.size() == 3 * kGroupsOfCard - 1;
  return text[mark] == ':' && longest <= kLongestGroup &&
         (gaps == 1 ? groups <= kGroupsOfNetwork : gaps == 0 && groups == kGroupsOfNetwork);
}

// True for a name with underscores.
bool is_code_name(std::string_view name) {
  const size_t first = name.find('_'), last = name.rfind('_');
  if (first == std::string_view::npos || name.find("___") != std::string_view::npos) return false;
  if (name.size() > 4 && name.substr(0, 2) == "__" && name.substr(name.size() - 2) == "__") return true;
  const auto letter = [&](size_t at) { return at < name.size() && is_ascii_alphanumeric(name[at]); };
  bool joins = false;
  for (size_t at = first; at <= last; ++at) joins = joins || (name[at] == '_' && letter(at - 1) && letter(at + 1));
  const bool may_have_accelerator =
      is_ascii_capital(name[0]) && first == last && std::all_of(name.begin() + first + 1, name.end(), is_ascii_small);
  return joins && !may_have_accelerator;
}

// The end of a formula such as =SUM(A1:A3)/2, which has spaces within parentheses alone; `begin` if there is none.
size_t formula_end(std::string_view text, size_t begin) {
  const auto is_of_function = [](char c) { return is_ascii_capital(c) || is_ascii_digit(c) || c == '.' || c == '_'; };
  if (text.compare(begin, 1, "=") != 0) return begin;
  size_t end = skip_while(text, begin + 1, is_of_function);
  if (end == begin + 1 || !is_ascii_capital(text[begin + 1]) || text.compare(end, 1, "(") != 0) return begin;
  const auto ends_word = [](char c) {
    return static_cast<signed char>(c) < 0 || std::string_view(" \"'<>`").find(c) != std::string_view::npos;
  };
  int open = 0;
  for (; end < text.size() && (open > 0 || !ends_word(text[end])); ++end) {
    if (text[end] == '(') ++open;
    if (text[end] == ')' && --open < 0) break;
    if (text[end] == '"') end = std::min(text.find('"', end + 1), text.size() - 1);
  }
  if (open > 0) return begin;
  while (std::string_view(".,;:!?*").find(text[end - 1]) != std::string_view::npos) --end;
  return end;
}

// The end of the name of a function in capitals before its arguments, as in DATE(Year; Month); no word such as FILE(S).
size_t function_name_end(std::string_view text, size_t begin) {
  constexpr size_t kShortest = 2, kFewest = 3;  // bytes of the name and of the arguments
  const auto is_of_function = [](char c) { return is_ascii_capital(c) || is_ascii_digit(c) || c == '.'; };
  const size_t end = skip_while(text, begin, is_of_function);
  if (end < begin + kShortest || !is_ascii_capital(text[begin]) || text.compare(end, 1, "(") != 0) return begin;
  const size_t closing = text.find(')', end);
  if (closing == std::string_view::npos || closing < end + 1 + kFewest) return begin;
  const std::string_view arguments = text.substr(end, closing - end);
  const bool are_words =
      arguments.find(' ') != std::string_view::npos &&
      arguments.find_first_of(";,|[\"=") == std::string_view::npos;  // WHO(World Health Organization)
  const bool are_in_capitals =
      std::none_of(arguments.begin(), arguments.end(), [](char c) { return is_ascii_small(c) || is_ascii_digit(c); });
  return are_words || are_in_capitals ? begin : end;
}

// The end of the name of a page of the Unix manual, such as printf(3) and ssl(3ossl); `begin` if there is none.
size_t manual_page_end(std::string_view text, size_t begin) {
  constexpr size_t kShortest = 2, kLongestSection = 6;  // bytes
  const auto is_of_page = [](char c) { return is_of_ascii_name(c) || c == '-' || c == '.' || c == '+'; };
  const size_t letter = skip_while(text, begin, [](char c) { return c == '_'; });  // _exit(2)
  if (letter >= text.size() || !is_ascii_small(text[letter])) return begin;
  const size_t section = skip_while(text, begin, is_of_page) + 1;
  if (section < begin + kShortest + 1 || section >= text.size() || text[section - 1] != '(') return begin;
  const size_t end = skip_while(text, section + 1, is_ascii_small);
  const bool is_section = is_ascii_digit(text[section]) && end - section <= kLongestSection;
  return is_section && text.compare(end, 1, ")") == 0 ? end + 1 : begin;
}

}  // namespace

size_t code_name_end(std::string_view text, size_t begin) {
  for (const auto end_of : {formula_end, function_name_end, manual_page_end})
    if (const size_t found = end_of(text, begin); found > begin) return found;
  size_t end = begin;
  bool is_name = false, has_joint = false;
  for (size_t at = begin; at < text.size() && is_of_ascii_name(text[at]) && !is_ascii_digit(text[at]);) {
    const size_t before = end;
    has_joint = at > begin;
    end = skip_while(text, at, is_of_ascii_name);
    is_name = is_name || is_code_name(text.substr(at, end - at)) ||
              (end > at + 1 && text.substr(before, at - before) == "::");  // no ":P" after a colon
    size_t joint = 0;
    for (const std::string_view sign : {".", "::", "->"})
      if (text.compare(end, sign.size(), sign) == 0) joint = sign.size();
    if (joint == 0) break;
    at = end + joint;
  }
  if (end == begin) return begin;
  if (text.compare(end, 2, "()") == 0) return end + 2;
  // After an ordinary word, the dots stand for words that are left out.
  if ((is_name || has_joint) && text.compare(end, 5, "(...)") == 0) return end + 5;
  if (!is_name) return begin;
  const bool has_value = text.compare(end, 1, "=") == 0;  // net.ipv4.ip_forward=yes
  const size_t value_end = has_value ? skip_while(text, end + 1, is_of_ascii_name) : end;
  return value_end > end + 1 ? value_end : end;
}

size_t option_end(std::string_view text, size_t begin) {
  constexpr size_t kShortest = 4;  // --no
  if (text.compare(begin, 2, "--") != 0) return begin;
  const size_t end = skip_while(text, begin, [](char c) { return is_of_ascii_name(c) || c == '-'; });
  // --so-- are dashes, and so are those before a capital, which begins speech in books.
  if (end < begin + kShortest || !is_ascii_small(text[begin + 2]) || text[end - 1] == '-') return begin;
  const auto is_of_value = [](char c) {
    return is_of_ascii_name(c) || is_joint(c) || c == '=' || c == '.' || c == '%';
  };
  size_t value = text.compare(end, 1, "=") == 0 ? skip_while(text, end, is_of_value) : end;
  while (value > end && !is_of_ascii_name(text[value - 1])) --value;
  return value;
}

size_t synopsis_end(std::string_view text, size_t begin) {
  constexpr size_t kMostCommands = 4;
  const auto is_of_command = [](char c) { return is_ascii_small(c) || is_ascii_digit(c) || c == '-' || c == '_'; };
  const auto has_syntax = [](std::string_view group) {
    constexpr std::array<std::string_view, 3> kSyntax{"[<", "[-", "(-"};
    return std::any_of(kSyntax.begin(), kSyntax.end(),
                       [&](std::string_view marks) { return group.find(marks) != std::string_view::npos; });
  };
  const std::string_view line = text.substr(0, text.find('\n', begin));
  size_t last = begin, in_row = 0;
  bool has_groups = false, is_synopsis = false, follows_group = false;
  for (size_t at = line.find_first_not_of(' ', begin); at < line.size(); at = line.find_first_not_of(' ', last)) {
    last = synopsis_part_end(line, at);
    const std::string_view part = line.substr(at, last - at);
    const bool is_repeated = part.size() > 3 && part.substr(part.size() - 3) == "...";
    const bool is_group = is_one_of(part.front(), kOpeningBrackets), is_option = part.front() == '-' && part.size() > 1;
    const bool is_tag = part.find("/>") != std::string_view::npos || part.find("</") != std::string_view::npos;
    if (is_tag || (!is_repeated && is_one_of(part.back(), ".,:;!?\"'"))) return begin;
    if (is_group) {
      const bool has_repeated = is_repeated && is_one_of(part[part.size() - 4], "]>") && is_ascii_letter(part[1]);
      is_synopsis = is_synopsis || has_syntax(part) || (follows_group && part.front() == '<') || has_repeated;
    } else if (!is_option && part != "|") {
      const std::string_view name = is_repeated ? part.substr(0, part.size() - 3) : part;
      const bool is_command = is_ascii_small(name.front()) && skip_while(name, 0, is_of_command) == name.size();
      const bool is_name = is_ascii_capital(name.front()) && std::none_of(name.begin(), name.end(), is_ascii_small);
      const bool is_program = at == begin && is_one_of(name.front(), "%$");
      if (!is_command && !(has_groups && is_name) && !is_program) return begin;
      in_row = is_command ? in_row + 1 : 0;
      if (in_row > (has_groups ? 1 : kMostCommands)) return begin;
    }
    if (is_group || is_option) in_row = 0;
    has_groups = has_groups || is_group || is_option;
    follows_group = is_one_of(part.front(), "[<");
  }
  return is_synopsis ? last : begin;
}

size_t quoted_code_end(std::string_view text, size_t begin) {
  constexpr size_t kLongest = 200, kLongestRole = 40;
  const std::string_view near = text.substr(0, begin + kLongest);
  const bool has_role = near[begin] == ':';
  const auto is_of_role = [](char c) { return is_ascii_alphanumeric(c) || c == ':' || c == '-' || c == '.'; };
  const size_t first = has_role ? skip_while(near.substr(0, begin + kLongestRole), begin, is_of_role) : begin;
  if (has_role && (first < begin + 3 || near[first - 1] != ':')) return begin;
  const auto is_backtick = [](char c) { return c == '`'; };
  const size_t code = skip_while(near, first, is_backtick), marks = code - first;
  if (marks == 0 || marks > 2) return begin;
  for (size_t at = near.find('`', code); at != std::string_view::npos;) {
    const size_t end = skip_while(near, at, is_backtick);
    if (end - at == marks) {
      const std::string_view inner = near.substr(code, at - code);
      // `a' (`b') and ``a'' (``b'') are quotations.
      const bool is_quotation = marks == 2 ? inner.find("''") != std::string_view::npos
                                           : std::count(inner.begin(), inner.end(), '\'') % 2 != 0;
      const bool is_code = !is_quotation && inner.find('\n') == std::string_view::npos && inner.front() != ' ' &&
                           inner.back() != ' ' && !(has_role && inner.find(' ') != std::string_view::npos);
      return is_code && (end == text.size() || !is_of_ascii_name(text[end])) ? end : begin;
    }
    at = near.find('`', end);
  }
  return begin;
}

// Parts of a date and a time, and ext2/ext3, IPv4/IPv6 and 1950s/1960s, have fewer changes than those of an identifier.
// What has a word in it, or too few changes, has no identifier that begins later and ends there either.
size_t IdentifierFinder::joined_end(size_t begin) {
  constexpr size_t kLongest = 512, kLeastOfPart = 4, kManyChanges = 4, kLongPart = 6;
  if (begin < next_joined_) return begin;
  size_t changes = 0, end = begin;
  bool has_long = false;
  for (size_t at = begin; at < text_.size();) {
    next_joined_ = skip_while(text_, at, is_ascii_alphanumeric);
    if (next_joined_ == at) break;
    end = next_joined_;
    const Signs signs = signs_of(text_.substr(at, end - at));
    if (is_ordinary(text_.substr(at, end - at), signs) || end - begin > kLongest) return begin;
    const bool may_be_unit =
        signs.changes == 1 && std::none_of(text_.begin() + at, text_.begin() + end, is_ascii_capital);
    if (end - at >= kLeastOfPart && !may_be_unit) changes += signs.changes;
    if (end - at >= kLongPart && signs.changes > 1) has_long = true;
    at = skip_while(text_, end, is_joint);
    if (at == end) break;
  }
  return has_long || changes >= kManyChanges || is_network_address(text_.substr(begin, end - begin)) ? end : begin;
}

size_t IdentifierFinder::end_of(size_t begin) {
  const auto separates = [&](size_t at) { return at < text_.size() && (text_[at] == '.' || text_[at] == ','); };
  const auto is_digit_at = [&](size_t at) { return at < text_.size() && is_ascii_digit(text_[at]); };
  if (separates(begin - 1) && is_digit_at(begin - 2)) return begin;  // nothing is at -1
  const size_t run_end = skip_while(text_, begin, is_ascii_alphanumeric);
  size_t end = joined_end(begin);
  if (end <= run_end) end = is_identifier(text_.substr(begin, run_end - begin)) ? run_end : begin;
  if (end == begin || (separates(end) && is_digit_at(end + 1))) return begin;
  const size_t padding_end = skip_while(text_, end, [](char c) { return c == '='; });
  return padding_end == text_.size() || !is_ascii_alphanumeric(text_[padding_end]) ? padding_end : end;
}

}  // namespace v0
}  // namespace transmute

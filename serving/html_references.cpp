// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/html_references.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string>
#include <unordered_map>

namespace transmute {
inline namespace v0 {

namespace {

using Names = std::unordered_map<std::string, uint32_t>;

constexpr size_t kLongestName = 31;  // of HTML's; those of HTML 4 are shorter

// Names of characters that follow each other, from `code` on.
void add_row(Names& names, uint32_t code, const char* row) {
  std::istringstream words(row);
  for (std::string name; words >> name; ++code) names.emplace(name, code);
}

Names make_names() {
  Names names{{"amp", '&'},       {"lt", '<'},        {"gt", '>'},         {"quot", '"'},       {"apos", '\''},
              {"OElig", 0x152},   {"oelig", 0x153},   {"Scaron", 0x160},   {"scaron", 0x161},   {"Yuml", 0x178},
              {"fnof", 0x192},    {"circ", 0x2C6},    {"tilde", 0x2DC},    {"thetasym", 0x3D1}, {"upsih", 0x3D2},
              {"piv", 0x3D6},     {"ensp", 0x2002},   {"emsp", 0x2003},    {"thinsp", 0x2009},  {"zwnj", 0x200C},
              {"zwj", 0x200D},    {"lrm", 0x200E},    {"rlm", 0x200F},     {"ndash", 0x2013},   {"mdash", 0x2014},
              {"lsquo", 0x2018},  {"rsquo", 0x2019},  {"sbquo", 0x201A},   {"ldquo", 0x201C},   {"rdquo", 0x201D},
              {"bdquo", 0x201E},  {"dagger", 0x2020}, {"Dagger", 0x2021},  {"bull", 0x2022},    {"hellip", 0x2026},
              {"permil", 0x2030}, {"prime", 0x2032},  {"Prime", 0x2033},   {"lsaquo", 0x2039},  {"rsaquo", 0x203A},
              {"oline", 0x203E},  {"frasl", 0x2044},  {"euro", 0x20AC},    {"image", 0x2111},   {"weierp", 0x2118},
              {"real", 0x211C},   {"trade", 0x2122},  {"alefsym", 0x2135}, {"larr", 0x2190},    {"uarr", 0x2191},
              {"rarr", 0x2192},   {"darr", 0x2193},   {"harr", 0x2194},    {"crarr", 0x21B5},   {"lArr", 0x21D0},
              {"uArr", 0x21D1},   {"rArr", 0x21D2},   {"dArr", 0x21D3},    {"hArr", 0x21D4},    {"forall", 0x2200},
              {"part", 0x2202},   {"exist", 0x2203},  {"empty", 0x2205},   {"nabla", 0x2207},   {"isin", 0x2208},
              {"notin", 0x2209},  {"ni", 0x220B},     {"prod", 0x220F},    {"sum", 0x2211},     {"minus", 0x2212},
              {"lowast", 0x2217}, {"radic", 0x221A},  {"prop", 0x221D},    {"infin", 0x221E},   {"ang", 0x2220},
              {"and", 0x2227},    {"or", 0x2228},     {"cap", 0x2229},     {"cup", 0x222A},     {"int", 0x222B},
              {"there4", 0x2234}, {"sim", 0x223C},    {"cong", 0x2245},    {"asymp", 0x2248},   {"ne", 0x2260},
              {"equiv", 0x2261},  {"le", 0x2264},     {"ge", 0x2265},      {"sub", 0x2282},     {"sup", 0x2283},
              {"nsub", 0x2284},   {"sube", 0x2286},   {"supe", 0x2287},    {"oplus", 0x2295},   {"otimes", 0x2297},
              {"perp", 0x22A5},   {"sdot", 0x22C5},   {"lceil", 0x2308},   {"rceil", 0x2309},   {"lfloor", 0x230A},
              {"rfloor", 0x230B}, {"lang", 0x27E8},   {"rang", 0x27E9},    {"loz", 0x25CA},     {"spades", 0x2660},
              {"clubs", 0x2663},  {"hearts", 0x2665}, {"diams", 0x2666},   {"AMP", '&'},        {"LT", '<'},
              {"GT", '>'},        {"QUOT", '"'},      {"COPY", 0xA9},      {"REG", 0xAE}};
  add_row(
      names, 0xA0,
      "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute "
      "micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring "
      "AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml "
      "times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil "
      "egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash "
      "ugrave uacute ucirc uuml yacute thorn yuml");
  add_row(names, 0x391, "Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho");
  add_row(names, 0x3A3, "Sigma Tau Upsilon Phi Chi Psi Omega");
  add_row(names, 0x3B1,
          "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigmaf");
  add_row(names, 0x3C3, "sigma tau upsilon phi chi psi omega");
  return names;
}

// Old pages number the characters of windows-1252 from 0x80 on, and browsers read them so.
constexpr std::array<uint32_t, 32> kWindows1252{0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021,
                                                0x2C6,  0x2030, 0x160,  0x2039, 0x152,  0x8D,   0x17D,  0x8F,
                                                0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                                0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178};

constexpr const char* kDigits = "0123456789";
constexpr const char* kHexDigits = "0123456789abcdefABCDEF";
constexpr const char* kNameCharacters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// How many characters a text begins with that are among these.
size_t leading(std::string_view text, const char* characters) {
  return std::min(text.find_first_not_of(characters), text.size());
}

// Of a number, the part behind "#".
uint32_t numbered_character(std::string_view digits, uint32_t base) {
  constexpr uint32_t kLast = 0x10FFFF;
  uint32_t code = 0;
  for (const char c : digits) {
    const int digit = std::isdigit(static_cast<unsigned char>(c)) != 0 ? c - '0' : (c | 0x20) - 'a' + 10;
    code = code * base + static_cast<uint32_t>(digit);
    if (code > kLast) return 0;
  }
  if (code >= 0x80 && code < 0xA0) return kWindows1252[code - 0x80];
  return code >= 0xD800 && code < 0xE000 ? 0 : code;
}

const Names& names() {
  static const Names kNames = make_names();
  return kNames;
}

// Names of Latin-1 do without a semicolon, whatever comes behind them: the longest that fits. What has one behind other
// letters may be a longer name of HTML 5 ("&notni;"), which this table does not have.
CharacterReference reference_without_semicolon(const std::string& name) {
  constexpr size_t kShortest = 2, kLongest = 6;
  for (size_t length = std::min(name.size(), kLongest); length >= kShortest; --length) {
    const auto found = names().find(name.substr(0, length));
    if (found != names().end() && found->second <= 0xFF && found->first != "apos") return {found->second, length};
  }
  return {};
}

}  // namespace

CharacterReference reference_at(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(at + 1);
  const auto ends_with_semicolon = [&](size_t length) { return length < rest.size() && rest[length] == ';'; };
  if (!rest.empty() && rest.front() == '#') {
    const bool is_hex = rest.size() > 1 && (rest[1] == 'x' || rest[1] == 'X');
    const size_t begin = is_hex ? 2 : 1;
    const size_t digits = leading(rest.substr(begin), is_hex ? kHexDigits : kDigits);
    const uint32_t code = numbered_character(rest.substr(begin, digits), is_hex ? 16 : 10);
    if (digits == 0 || code == 0) return {};
    return {code, 1 + begin + digits + (ends_with_semicolon(begin + digits) ? 1 : 0)};
  }
  const size_t length = leading(rest.substr(0, kLongestName + 1), kNameCharacters);
  const std::string name(rest.substr(0, length));
  if (!ends_with_semicolon(length)) {
    const CharacterReference found = reference_without_semicolon(name);
    return {found.character, found.character == 0 ? 0 : 1 + found.length};
  }
  const auto found = names().find(name);
  return found == names().end() ? CharacterReference{} : CharacterReference{found->second, 1 + length + 1};
}

}  // namespace v0
}  // namespace transmute

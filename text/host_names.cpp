// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/host_names.h>

#include <transmute/common/ascii_case.h>
#include <transmute/text/characters.h>

#include <algorithm>
#include <string>

namespace transmute {
inline namespace v0 {

namespace {

// Domains that hardly any text has for another reason.
constexpr std::string_view kSureDomains = " com de edu gov info io net org uk ";

constexpr std::string_view kDomains =
    " academy ae af agency app ar asia aw ax az bb bd bf bg bh bi biz bj blog bn bo br bs bt bw bz ca cc cd cf ch"
    " ci cl cloud club cn co coop cr cv cw cx cy cz dev digital dj dk dm dz ec ee eg fj fk fm fo fr gd ge gf gg gh"
    " gi gl gn gp gq gr gt gu gw gy health hk hn hr ht hu ie int iq ir jm jobs jp ke kg kh kn kp kr kw ky kz lb lc"
    " lk lr ls lt lu lv ly mc md media mil mn mobi mp mq museum mv mw mx mz nc news nf ng nl np nr nz online pf pg"
    " ph pk pl pn pr pt py qa ro rs ru rw sb sc sd sg shop site sj sk sl sm sn social sr store studio sv sx sy sz"
    " td tech tf tg th tj tk tl tn tr tt tv tw tz ua ug uy uz vc vg vn vu website wf wiki ws xyz ye yt zm zw ";

// Domains that are words or units, too, in languages that many texts are in.
constexpr std::string_view kWords =
    " ad ag ai al am an ao art as at au ba be by ck cm cu do email er es et eu fi fun ga gm gs hm id il im in is"
    " it je jo ki km la li life link live lo ma me mg mh mk ml mo mr ms mt mu my na ne ni no nu om pa page pe pm"
    " ps pw re sa se sh si so space ss st su ta team today to travel tm tc us va ve vi world za ";

bool is_in(std::string_view domains, const std::string& domain) {
  return domains.find(' ' + domain + ' ') != std::string_view::npos;
}

bool is_of_label(char c) {
  return is_ascii_alphanumeric(c) || c == '-';
}

// True if a word follows after a space.
bool is_before_word(std::string_view text, size_t end) {
  return end < text.size() && text[end] == ' ' && characters::is_letter_or_digit(characters::at(text, end + 1));
}

}  // namespace

size_t host_name_end(std::string_view text, size_t begin) {
  size_t end = begin, label = begin, previous = begin, labels = 0;  // of the last two labels
  for (size_t at = begin;;) {
    const size_t next = std::find_if_not(text.begin() + at, text.end(), is_of_label) - text.begin();
    if (next == at || text[at] == '-' || text[next - 1] == '-') break;
    previous = label;
    label = at;
    end = next;
    ++labels;
    if (next == text.size() || text[next] != '.') break;
    at = next + 1;
  }
  if (labels < 2) return begin;
  const std::string_view top = text.substr(label, end - label), second = text.substr(previous, label - 1 - previous);
  const std::string lower = lower_case(std::string(top));
  const bool is_small = lower == top;
  if (is_in(kSureDomains, lower) && (is_small || std::all_of(top.begin(), top.end(), is_ascii_capital))) return end;
  const bool has_path = end < text.size() && text[end] == '/';
  const bool has_name = (second.size() > 1 || has_path) && std::any_of(second.begin(), second.end(), is_ascii_letter);
  if (!is_small || !has_name) return begin;  // YYYY.MM.TT, a.m., 5.km
  if (is_in(kDomains, lower)) return end;
  // A full stop may lack its space: finished.in the.
  const bool is_sure = labels > 2 || has_path || !is_before_word(text, end);
  return is_sure && is_in(kWords, lower) ? end : begin;
}

}  // namespace v0
}  // namespace transmute

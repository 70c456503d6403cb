// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/config_schema.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <strings.h>
#include <transmute/common/files.h>
#include <transmute/common/yaml.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

// The exception of a field's parser; the reader adds file, line and key.
struct BadValue : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

std::string shown(const YAML::Node& node) {
  YAML::Emitter emitter;
  emitter << YAML::Flow << node;
  return emitter.c_str();
}

const std::string& scalar_of(const YAML::Node& node, const char* wanted) {
  if (node.IsNull()) throw BadValue(fmt::format("has no value; it needs {}", wanted));
  if (!node.IsScalar()) throw BadValue(fmt::format("needs {}, not '{}'", wanted, shown(node)));
  return node.Scalar();
}

bool is_quoted(const YAML::Node& node) {
  return node.Tag() == "!";
}

template <class T>
T parse_number(const YAML::Node& node, const char* wanted, Bounds<T> bounds) {
  const std::string& text = scalar_of(node, wanted);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = !text.empty() && end == text.data() + text.size();
  if (is_number && is_quoted(node)) throw BadValue(fmt::format("needs {} without quotes: {}", wanted, text));
  if (is_number && error == std::errc::result_out_of_range) {
    const bool is_too_large = std::is_integral_v<T> && text.front() != '-';
    throw BadValue(fmt::format("needs {}; {} is {}", wanted, text, is_too_large ? "too large" : "out of range"));
  }
  const bool is_finite = std::isfinite(static_cast<double>(value));
  if (!is_number || error != std::errc() || !is_finite) throw BadValue(fmt::format("needs {}, not '{}'", wanted, text));
  if (value < bounds.low || value > bounds.high) {
    if (bounds.high == Bounds<T>{}.high) throw BadValue(fmt::format("must be at least {}, not {}", bounds.low, text));
    throw BadValue(fmt::format("must lie between {} and {}, not {}", bounds.low, bounds.high, text));
  }
  return value;
}

bool parse_bool(const YAML::Node& node) {
  const std::string& text = scalar_of(node, "true or false");
  const bool is_word = text == "true" || text == "false";
  if (is_word && is_quoted(node)) throw BadValue(fmt::format("needs true or false without quotes: {}", text));
  if (is_word) return text == "true";
  throw BadValue(fmt::format("needs true or false, not '{}'", text));
}

// The items of a list, or the only one.
template <class Item, class ParseItem>
std::vector<Item> list_of(const YAML::Node& node, const ParseItem& parse) {
  if (!node.IsSequence()) return {parse(node)};
  std::vector<Item> items;
  for (const auto& item : node) items.push_back(parse(item));
  return items;
}

std::string in_quotes(const std::string& text) {
  YAML::Emitter emitter;
  emitter << YAML::DoubleQuoted << text;
  return emitter.c_str();
}

std::string join(const std::vector<std::string>& words, const char* separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string location(const std::string& file, const YAML::Node& node) {
  return fmt::format("{}:{}", file, node.Mark().line + 1);
}

std::string qualified(const std::string& section, const std::string& key) {
  return section.empty() ? key : section + "." + key;
}

bool is_digits(const YAML::Node& node) {
  return node.IsScalar() && !node.Scalar().empty() &&
         node.Scalar().find_first_not_of("0123456789") == std::string::npos;
}

// `{dropout: 0,1}` has the keys "dropout" and "1".
void refuse_commas_in_numbers(const std::string& file, const std::string& section, const YAML::Node& map) {
  std::string key, whole;  // key and whole part of the number that is before a comma
  for (auto entry = map.begin(); entry != map.end(); ++entry) {
    if (!is_digits(entry->first) || !entry->second.IsNull()) {
      key = entry->first.IsScalar() ? entry->first.Scalar() : "";
      whole = is_digits(entry->second) ? entry->second.Scalar() : "";
      continue;
    }
    const std::string where = fmt::format("{}: a comma separates keys here, and", location(file, entry->first));
    if (whole.empty())
      throw std::invalid_argument(fmt::format("{} \"{}\" is none", where, qualified(section, entry->first.Scalar())));
    bool is_grouped = whole != "0";
    std::string digits;
    for (; entry != map.end() && is_digits(entry->first) && entry->second.IsNull(); ++entry) {
      digits += entry->first.Scalar();
      is_grouped = is_grouped && entry->first.Scalar().size() == 3;
    }
    throw std::invalid_argument(fmt::format("{} \"{}\" has one in its value; write {}: {}{}{}", where,
                                            qualified(section, key), key, whole, is_grouped ? "" : ".", digits));
  }
}

void refuse_repeated_keys(const std::string& file, const std::string& section, const YAML::Node& map) {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    if (!entry.first.IsScalar())
      throw std::invalid_argument(fmt::format("{}: a key must be a plain word", location(file, entry.first)));
    if (!seen.insert(entry.first.Scalar()).second)
      throw std::invalid_argument(fmt::format("{}: key \"{}\" occurs twice; keep one of them",
                                              location(file, entry.first), qualified(section, entry.first.Scalar())));
  }
}

// Levenshtein distance.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

constexpr int kMaxBaseDepth = 16;
constexpr const char* kBaseKey = "base";

}  // namespace

std::string nearest_name(const std::string& word, const std::vector<std::string>& candidates) {
  constexpr size_t kLongest = 100;
  if (word.size() > kLongest) return "";  // nobody's slip
  std::string best;
  size_t best_distance = std::string::npos;
  for (const auto& candidate : candidates) {
    size_t distance = ::strcasecmp(word.c_str(), candidate.c_str()) == 0 ? 0 : edit_distance(word, candidate);
    // n_head for num_heads: a shared tail or head counts as near though many letters differ.
    if (word.size() >= 3 && (candidate.find(word) != std::string::npos || word.find(candidate) != std::string::npos))
      distance = std::min<size_t>(distance, 2);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  const size_t limit = std::max<size_t>(2, word.size() / 2);
  return best_distance <= limit ? best : "";
}

void ConfigSchema::section(const std::string& name, const std::string& description) {
  sections_.push_back({name, description});
}

void ConfigSchema::add_field(const std::string& key, const std::string& description,
                             std::function<void(const YAML::Node&)> parse, std::function<std::string()> format) {
  if (sections_.empty()) section("", "");
  fields_.push_back({sections_.back().name, key, description, std::move(parse), std::move(format)});
}

void ConfigSchema::add(const std::string& key, int64_t* value, const std::string& description, Bounds<int64_t> bounds) {
  add_field(
      key, description, [=](const YAML::Node& node) { *value = parse_number<int64_t>(node, "a whole number", bounds); },
      [=] { return fmt::format("{}", *value); });
}

void ConfigSchema::add(const std::string& key, double* value, const std::string& description, Bounds<double> bounds) {
  add_field(
      key, description, [=](const YAML::Node& node) { *value = parse_number<double>(node, "a number", bounds); },
      [=] { return fmt::format("{}", *value); });
}

void ConfigSchema::add(const std::string& key, bool* value, const std::string& description) {
  add_field(
      key, description, [=](const YAML::Node& node) { *value = parse_bool(node); },
      [=] { return std::string(*value ? "true" : "false"); });
}

void ConfigSchema::add(const std::string& key, std::string* value, const std::string& description) {
  add_field(
      key, description, [=](const YAML::Node& node) { *value = scalar_of(node, "a text"); },
      [=] { return in_quotes(*value); });
}

void ConfigSchema::add(const std::string& key, std::vector<std::string>* value, const std::string& description) {
  add_field(
      key, description,
      [=](const YAML::Node& node) {
        *value = list_of<std::string>(node, [](const YAML::Node& item) { return scalar_of(item, "a list of texts"); });
      },
      [=] {
        std::vector<std::string> items;
        for (const auto& item : *value) items.push_back(in_quotes(item));
        return "[" + join(items, ", ") + "]";
      });
}

void ConfigSchema::add(const std::string& key, std::vector<double>* value, const std::string& description) {
  add_field(
      key, description,
      [=](const YAML::Node& node) {
        *value = list_of<double>(
            node, [](const YAML::Node& item) { return parse_number<double>(item, "a list of numbers", {}); });
      },
      [=] { return fmt::format("[{}]", fmt::join(*value, ", ")); });
}

void ConfigSchema::add_choice(const std::string& key, const std::vector<std::string>& words,
                              const std::string& description, std::function<void(size_t)> assign,
                              std::function<std::string()> name) {
  add_field(
      key, description + " (" + join(words, ", ") + ")",
      [=](const YAML::Node& node) {
        const std::string& word = scalar_of(node, "one word");
        const auto found = std::find(words.begin(), words.end(), word);
        if (found == words.end()) throw BadValue(fmt::format("must be one of {}; not '{}'", join(words, ", "), word));
        assign(static_cast<size_t>(found - words.begin()));
      },
      std::move(name));
}

void ConfigSchema::ignore_section(const std::string& name) {
  ignored_sections_.push_back(name);
}

const ConfigSchema::Field* ConfigSchema::find(const std::string& section, const std::string& key) const {
  for (const auto& field : fields_)
    if (field.section == section && field.key == key) return &field;
  return nullptr;
}

bool ConfigSchema::is_section(const std::string& name) const {
  return !name.empty() &&
         std::any_of(sections_.begin(), sections_.end(), [&](const Section& section) { return section.name == name; });
}

std::string ConfigSchema::unknown_key(const std::string& where, const std::string& section,
                                      const std::string& key) const {
  if (section.empty() && is_section(key))  // only --set takes a section for a key
    for (const auto& field : fields_)
      if (field.section == key)
        return fmt::format("{}: \"{}\" is a section; set one of its keys, such as {}", where, key,
                           qualified(key, field.key));
  const std::string message = fmt::format("{}: unknown key \"{}\"", where, qualified(section, key));
  // In a file, "section.key" as --set has it.
  const std::string before_dot = key.substr(0, key.find('.'));
  if (section.empty() && before_dot != key && is_section(before_dot))
    return fmt::format("{}; in a file, write {} inside the section {}", message, key.substr(before_dot.size() + 1),
                       before_dot);
  for (const auto& field : fields_)
    if (field.key == key) return fmt::format("{}; did you mean \"{}\"?", message, qualified(field.section, key));
  std::vector<std::string> names;
  for (const auto& field : fields_)
    if (field.section == section) names.push_back(field.key);
  const bool is_in_section = is_section(section);
  if (!is_in_section)
    for (const auto& known : sections_)
      if (!known.name.empty()) names.push_back(known.name);
  const bool has_unknown_section = !section.empty() && !is_in_section;
  const std::string nearest = nearest_name(has_unknown_section ? section : key, names);
  if (!nearest.empty()) return fmt::format("{}; did you mean \"{}\"?", message, nearest);
  return fmt::format("{}; known {}: {}", message, has_unknown_section ? "sections" : "keys here", join(names, ", "));
}

void ConfigSchema::read_section(const std::string& file, const std::string& section, const YAML::Node& node) {
  if (node.IsNull()) return;
  if (!node.IsMap())
    throw std::invalid_argument(
        fmt::format("{}: \"{}\" must hold keys and values", location(file, node), section.empty() ? file : section));
  refuse_commas_in_numbers(file, section, node);
  refuse_repeated_keys(file, section, node);
  for (const auto& entry : node) {
    const std::string& key = entry.first.Scalar();
    if (section.empty() && key == kBaseKey) continue;
    if (section.empty() && is_section(key)) {
      read_section(file, key, entry.second);
      continue;
    }
    const auto is_ignored = [&](const std::string& name) {
      return std::find(ignored_sections_.begin(), ignored_sections_.end(), name) != ignored_sections_.end();
    };
    if (section.empty() && is_ignored(key)) continue;
    const Field* field = find(section, key);
    if (field == nullptr && is_ignored(section)) continue;
    const std::string where = location(file, entry.first);
    if (field == nullptr) throw std::invalid_argument(unknown_key(where, section, key));
    try {
      field->parse(entry.second);
    } catch (const BadValue& error) {
      throw std::invalid_argument(fmt::format("{}: \"{}\" {}", where, qualified(section, key), error.what()));
    }
    given_.insert(qualified(section, field->key));
  }
}

void ConfigSchema::read_file(const std::string& path) {
  // The chain of bases, outermost first.
  std::vector<std::pair<std::string, YAML::Node>> chain;
  std::string named_at;  // location of the "base" that names `file`
  const auto text_of = [&](const std::string& file) {
    try {
      return transmute::read_file(file, kMaxConfigBytes);
    } catch (const std::exception& error) {
      if (named_at.empty()) throw;
      throw std::runtime_error(fmt::format(
          "{}. It is the \"base\" of {}: correct the name, which is relative to the folder of that file, or "
          "put the base there",
          error.what(), named_at));
    }
  };
  for (std::string file = path; !file.empty();) {
    if (chain.size() == kMaxBaseDepth)
      throw std::invalid_argument(
          fmt::format("{}: more than {} files in the chain of \"base\"; does it name itself?", path, kMaxBaseDepth));
    chain.emplace_back(file, parse_yaml(text_of(file), file));
    files_.push_back(file);
    const YAML::Node& root = chain.back().second;
    std::string base;
    if (root.IsMap() && root[kBaseKey]) {
      if (!root[kBaseKey].IsScalar())
        throw std::invalid_argument(location(file, root[kBaseKey]) + ": \"base\" needs the name of one file");
      named_at = location(file, root[kBaseKey]);
      base = (std::filesystem::path(file).parent_path() / root[kBaseKey].Scalar()).string();
    }
    file = base;
  }
  for (auto link = chain.rbegin(); link != chain.rend(); ++link) read_section(link->first, "", link->second);
}

void ConfigSchema::read_text(const std::string& text, const std::string& name) {
  if (text.size() > kMaxConfigBytes)
    throw std::invalid_argument(fmt::format("{}: has more than {} bytes; is it a config?", name, kMaxConfigBytes));
  read_section(name, "", parse_yaml(text, name));
}

void ConfigSchema::set(const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos)
    throw std::invalid_argument(
        fmt::format("--set {}: needs the form section.key=value, for example training.warmup_steps=8000", assignment));
  const std::string name = assignment.substr(0, equals);
  const size_t dot = name.find('.');
  const std::string section = dot == std::string::npos ? "" : name.substr(0, dot);
  const std::string key = dot == std::string::npos ? name : name.substr(dot + 1);
  const std::string where = "--set " + assignment;
  const Field* field = find(section, key);
  if (field == nullptr) throw std::invalid_argument(unknown_key(where, section, key));
  try {
    field->parse(parse_yaml(assignment.substr(equals + 1), where));
  } catch (const BadValue& error) {
    throw std::invalid_argument(fmt::format("{}: \"{}\" {}", where, name, error.what()));
  }
  given_.insert(qualified(section, field->key));
}

std::string ConfigSchema::to_yaml() const {
  std::string text;
  for (const auto& section : sections_) {
    const char* indent = section.name.empty() ? "" : "  ";
    if (!section.name.empty()) text += section.name + ":\n";
    for (const auto& field : fields_)
      if (field.section == section.name) text += fmt::format("{}{}: {}\n", indent, field.key, field.format());
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> ConfigSchema::values() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& field : fields_) all.emplace_back(qualified(field.section, field.key), field.format());
  return all;
}

std::string ConfigSchema::to_markdown() const {
  std::string text;
  for (const auto& section : sections_) {
    text += section.name.empty() ? "Top level" : fmt::format("`{}`", section.name);
    if (!section.description.empty()) text += ": " + section.description;
    text += "\n\n| key | default | meaning |\n|---|---|---|\n";
    for (const auto& field : fields_)
      if (field.section == section.name)
        text += fmt::format("| `{}` | `{}` | {} |\n", field.key, field.format(), field.description);
    text += "\n";
  }
  return text;
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace YAML {
class Node;
}

namespace transmute {
inline namespace v0 {

/// Larger than any YAML of a configuration.
constexpr uint64_t kMaxConfigBytes = 1 << 20;

/// The names that an enum has in YAML, in the order in which messages list them.
template <class E>
using EnumNames = std::vector<std::pair<E, std::string>>;

/// Closed interval that a number must lie in.
template <class T>
struct Bounds {
  T low = std::numeric_limits<T>::lowest();
  T high = std::numeric_limits<T>::max();
};

/// The keys of an experiment's YAML, each bound to a field of a typed options struct: the field's value when
/// it is added is the default, so that a default is written once, in the struct.
///
/// Reading is strict: an unknown or repeated key, a value of the wrong type or outside its bounds throws
/// std::invalid_argument that names file, line, key and the remedy (the nearest known name).
class TRANSMUTE_API ConfigSchema {
 public:
  /// Starts a section; the keys added next belong to it. An empty name means the top level.
  void section(const std::string& name, const std::string& description);

  void add(const std::string& key, int64_t* value, const std::string& description, Bounds<int64_t> bounds = {});
  void add(const std::string& key, double* value, const std::string& description, Bounds<double> bounds = {});
  void add(const std::string& key, bool* value, const std::string& description);
  void add(const std::string& key, std::string* value, const std::string& description);
  void add(const std::string& key, std::vector<std::string>* value, const std::string& description);
  void add(const std::string& key, std::vector<double>* value, const std::string& description);

  template <class E>
  void add(const std::string& key, E* value, const EnumNames<E>& names, const std::string& description) {
    std::vector<std::string> words;
    for (const auto& name : names) words.push_back(name.second);
    add_choice(
        key, words, description, [value, names](size_t index) { *value = names[index].first; },
        [value, names] {
          for (const auto& name : names)
            if (name.first == *value) return name.second;
          return std::string();
        });
  }

  /// Sections that another reader owns: read_file passes over them.
  void ignore_section(const std::string& name);

  /// Reads a YAML file on top of the present values. A top-level `base: other.yaml`, relative to the file's
  /// own folder, is read first.
  void read_file(const std::string& path);

  /// The same for YAML that is in memory and has no base. `name`: what messages call it.
  void read_text(const std::string& text, const std::string& name);

  /// Every file that was read, bases included.
  const std::vector<std::string>& files() const { return files_; }

  /// Applies one `section.key=value`, as `--set` gives it; the value is YAML (`[a, b]` for lists).
  void set(const std::string& assignment);

  /// True if a file, text or set() has given the key, called `section.key`, be it with its default value.
  bool is_given(const std::string& key) const { return given_.count(key) != 0; }

  /// Every key with its present value.
  std::string to_yaml() const;

  /// The same as pairs of `section.key` and YAML value, in the order of declaration.
  std::vector<std::pair<std::string, std::string>> values() const;

  /// A Markdown table per section: key, default, meaning.
  std::string to_markdown() const;

 private:
  struct Field {
    std::string section;
    std::string key;
    std::string description;
    std::function<void(const YAML::Node&)> parse;
    std::function<std::string()> format;
  };
  struct Section {
    std::string name;
    std::string description;
  };

  void add_choice(const std::string& key, const std::vector<std::string>& words, const std::string& description,
                  std::function<void(size_t)> assign, std::function<std::string()> name);
  void add_field(const std::string& key, const std::string& description, std::function<void(const YAML::Node&)> parse,
                 std::function<std::string()> format);
  void read_section(const std::string& file, const std::string& section, const YAML::Node& node);
  const Field* find(const std::string& section, const std::string& key) const;
  bool is_section(const std::string& name) const;
  std::string unknown_key(const std::string& where, const std::string& section, const std::string& key) const;

  std::vector<Section> sections_;
  std::vector<std::string> ignored_sections_;
  std::vector<Field> fields_;
  std::vector<std::string> files_;
  std::set<std::string> given_;
};

/// The candidate with the smallest edit distance to `word`, or "" where none is near.
TRANSMUTE_API std::string nearest_name(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/json.h>

#include <spdlog/fmt/fmt.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

// Builds a Json from the parser's events.
class JsonBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit JsonBuilder(const JsonLimits& limits) : limits_(limits) {}

  Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& value) override { return put(std::move(value)); }
  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = open_.back();
    // ordered_map's own insertion would compare the name with every member's.
    std::vector<Member>& members = level.container->get_ref<Json::object_t&>();
    const auto [known, is_new] = level.places.emplace(name, members.size());
    if (is_new) {
      if (open_.size() == 1 && members.size() == limits_.members)
        throw JsonLimitError(fmt::format("more than {} members", limits_.members));
      members.emplace_back(std::move(name), nullptr);
    } else if (!limits_.repeated_names) {
      throw JsonLimitError(fmt::format("'{}' occurs twice", name));
    }
    level.next = &members[known->second].second;
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    if (const auto* syntax = dynamic_cast<const Json::parse_error*>(&error)) throw *syntax;
    if (const auto* range = dynamic_cast<const Json::out_of_range*>(&error)) throw *range;
    throw std::runtime_error(error.what());
  }

 private:
  using Member = Json::object_t::value_type;

  // An object or array that is open. No member is added to it before what it contains is closed, so that pointers to
  // members stay good.
  struct Level {
    Json* container;
    Json* next = nullptr;                  // where an object's next value belongs
    std::map<std::string, size_t> places;  // places of its members
  };

  template <typename Value>
  bool put(Value&& value) {
    place(Json(std::forward<Value>(value)));
    return true;
  }

  Json* place(Json value) {
    if (values_++ == limits_.values) throw JsonLimitError(fmt::format("more than {} values", limits_.values));
    Json* place = &root_;
    if (!open_.empty() && open_.back().container->is_array()) {
      open_.back().container->push_back(std::move(value));
      return &open_.back().container->back();
    }
    if (!open_.empty()) place = open_.back().next;
    *place = std::move(value);
    return place;
  }

  bool open(Json container) {
    if (open_.size() == limits_.depth)
      throw JsonLimitError(fmt::format("nested more than {} levels deep", limits_.depth));
    Json* const placed = place(std::move(container));
    open_.push_back({placed, nullptr, {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  const JsonLimits& limits_;
  Json root_;
  size_t values_ = 0;
  std::vector<Level> open_;
};

}  // namespace

Json parse_json(std::string_view text, const JsonLimits& limits) {
  JsonBuilder builder(limits);
  Json::sax_parse(text, &builder);
  return builder.take();
}

std::optional<Json> parse_json_if_valid(std::string_view text) {
  try {
    return parse_json(text);
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const JsonLimitError&) {
    return std::nullopt;
  }
}

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace v0
}  // namespace transmute

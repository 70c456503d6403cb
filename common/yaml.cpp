// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/yaml.h>

#include <spdlog/fmt/fmt.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/parser.h>
#include <yaml-cpp/yaml.h>

#include <sstream>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// Remembers where the last document began.
class DocumentStart : public YAML::EventHandler {
 public:
  YAML::Mark mark;

  void OnDocumentStart(const YAML::Mark& begin) override { mark = begin; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {}
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {}
  void OnMapEnd() override {}
};

// The parser takes what can begin no value, such as a comma, for an empty document, and finds it again after that.
void refuse_second_document(const std::string& text, const std::string& where) {
  std::istringstream input(text);
  YAML::Parser parser(input);
  DocumentStart begin;
  const auto next = [&] {
    const int before = begin.mark.pos;
    const bool found = parser.HandleNextDocument(begin);
    if (found && begin.mark.pos == before) throw YAML::ParserException(begin.mark, "no value can begin here");
    return found;
  };
  begin.mark.pos = -1;
  if (!next()) return;
  const bool has_second = next();
  if (!has_second) return;
  const int line = begin.mark.line + 1;
  next();
  throw std::invalid_argument(
      fmt::format("{}:{}: a second YAML document begins here, and only one is read", where, line));
}

// Throws if a line is indented with a tab, which YAML forbids and parsers report as something else.
void refuse_tabs(const std::string& text, const std::string& where) {
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const size_t begin = line.find_first_not_of(" \t\r");
    const size_t tab = line.find('\t');
    if (tab < begin && begin != std::string::npos && line[begin] != '#')
      throw std::invalid_argument(
          fmt::format("{}:{}:{}: tabs are not allowed in the indentation of YAML; use spaces", where, number, tab + 1));
  }
}

}  // namespace

YAML::Node parse_yaml(const std::string& text, const std::string& where) {
  try {
    refuse_second_document(text, where);
    return YAML::Load(text);
  } catch (const YAML::DeepRecursion& error) {
    throw std::invalid_argument(
        fmt::format("{}:{}:{}: nested too deeply", where, error.mark.line + 1, error.mark.column + 1));
  } catch (const YAML::ParserException& error) {
    refuse_tabs(text, where);
    throw std::invalid_argument(
        fmt::format("{}:{}:{}: not valid YAML: {}", where, error.mark.line + 1, error.mark.column + 1, error.msg));
  }
}

}  // namespace v0
}  // namespace transmute

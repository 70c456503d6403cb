// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/prefix_lines.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/progress.h>
#include <transmute/programs/shared/line_stream.h>
#include <transmute/text/glossary.h>

#include <stdexcept>

namespace transmute {

PrefixLines::PrefixLines(const std::string& path, size_t max_line_bytes, const SubwordModel& target)
    : path_(path), target_(target) {
  const LineRules rules{InvalidUtf8::fail, max_line_bytes};
  if (!path.empty()) reader_ = std::make_unique<LineReader>(path, rules);
}

std::vector<std::string> PrefixLines::next(std::vector<std::string>& block) {
  std::vector<std::string> prefixes;
  if (!reader_) return prefixes;
  try {
    for (std::string prefix; prefixes.size() < block.size(); prefixes.push_back(prefix)) read(prefix);
  } catch (const std::runtime_error& error) {
    fault_ = error.what();
    block.resize(prefixes.size());
  }
  return prefixes;
}

void PrefixLines::finish() {
  if (!reader_) return;
  const int64_t lines = reader_->line_number();
  bool has_more = true;
  try {
    std::string more;
    has_more = reader_->next(more);
  } catch (const std::runtime_error&) {  // a line that cannot be read is one too many, too
  }
  if (has_more)
    throw BadLine(fmt::format("{}:{}: the input has only {}; line n is the beginning of translation n", path_,
                              lines + 1, counted(lines, "line")));
}

void PrefixLines::read(std::string& prefix) {
  if (!reader_->next(prefix))
    throw std::runtime_error(
        fmt::format("{}:{}: the file ends here, but the input continues; line n is the beginning of translation n",
                    path_, reader_->line_number() + 1));
  if (!can_write(target_, prefix))
    throw std::runtime_error(
        fmt::format("{}:{}: \"{}\" has characters that the model's vocabulary lacks; no translation can begin with it",
                    path_, reader_->line_number(), without_control(prefix)));
}

}  // namespace transmute

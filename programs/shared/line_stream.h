// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/text_file.h>
#include <transmute/programs/shared/output.h>

#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {

/// The input cannot be continued at a line, which the message names; the lines before it are sound.
class BadLine : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Gives at least one line and at most `most`; none at the end.
using BlockSource = std::function<std::vector<std::string>(size_t most)>;

/// Gets the first bytes of a pipe, 10 or all of the first line, and throws std::runtime_error if no text begins so.
using BeginningCheck = std::function<void(std::string_view beginning)>;

/// Lines of an open file descriptor (a pipe, a terminal, a file), handed out as they come: someone who types a line
/// gets it answered, a file comes in large blocks. A block has at least one line, and what else arrives without a pause
/// of more than 10 ms. A gzipped text is recognized by its first bytes. Lines are as LineReader's; those before a bad
/// one are handed out first, and the next call then throws BadLine.
/// @param name what messages call it
BlockSource arriving_lines(int descriptor, const std::string& name, const LineRules& rules = {},
                           const BeginningCheck& check = {});

/// The lines of a file, plain or packed, or of a pipe as they come: a named one, or standard input where `path` is
/// empty or "-". Lines before a bad one are handed out first; the next call then throws BadLine. Says on standard error
/// where lines come from a terminal, and once where a line has zero bytes.
BlockSource open_input(const std::string& path, const LineRules& rules = {}, const BeginningCheck& check = {});

/// The name of that path's input in messages.
std::string input_name(const std::string& path);

/// A flag, or a key of a config, and the path that it was given; for a model from the store what model_path() returns.
struct NamedInput {
  const char* flag;
  std::string path;
};

/// The place of a file, by which two names of one are equal, also of one that does not exist yet; "-" for standard
/// input and output.
std::string place_of(const std::string& path);

/// Standard input can be read once: @throws std::invalid_argument if "-" is the path of two of them.
void check_standard_input_once(const std::vector<NamedInput>& inputs);

/// True for a name that files of models have: weights, settings, vocabularies. `.pt` is not among them, as
/// export_torchscript writes such files, too.
bool may_be_of_model(const std::string& file);

/// Writing an output must not destroy what is read: @throws std::invalid_argument if it is the file or the folder of
/// one of the inputs, or a file of a model in such a folder. `output_flag`: the flag that names it.
void check_output_is_no_input(const std::string& output, const std::vector<NamedInput>& inputs,
                              const char* output_flag = "--output");

/// A folder that is written must not become a part of the model that is read: @throws std::invalid_argument if it
/// would be within the folder of one of the inputs.
void check_folder_is_in_no_input(const std::string& output, const std::vector<NamedInput>& inputs,
                                 const char* output_flag = "--output");

/// `most` lines, fewer only at the end and before a bad line, which is then the `failure` to be thrown once the lines
/// before it are done.
std::vector<std::string> next_full_block(const BlockSource& source, size_t most, std::exception_ptr& failure);

/// The lines of a file or, where `path` is empty or "-", of standard input: all of them, or the first `most`.
/// @throws BadLine
std::vector<std::string> read_input_lines(const std::string& path, size_t most = static_cast<size_t>(-1));

/// Checks what two files that belong together must have. `must`: what line n of one is to line n of the other, such as
/// "have the words of".
/// @throws std::runtime_error with both counts if they differ
void check_equal_lines(const std::string& path, size_t lines, const std::string& other_path, size_t other_lines,
                       const char* must);

/// Runs `work`. Where it meets a bad line, what was written until then is kept; an older output stays if that is
/// nothing.
/// @throws what `work` throws; a BadLine says whether the lines before are written.
void keep_output_before_bad_line(Output& output, const std::function<void()>& work);

}  // namespace transmute

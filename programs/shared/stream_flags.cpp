// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/stream_flags.h>

namespace transmute {

CLI::Option* StreamFlags::add_to(CLI::App& app) {
  CLI::Option* const flag =
      app.add_option("-i,--input", input,
                     "UTF-8 text, one segment per line, plain or gzipped; by default, or with -, standard input")
          ->type_name("FILE");
  CLI::Option* const output_flag = add_output_flag(app, output);
  app.add_flag(
         "--continue", resumes,
         "resume after the last line of an earlier run that was stopped: with the same input, model and flags, the "
         "output is what an uninterrupted run writes")
      ->needs(output_flag);
  lines.add_to(app);
  return flag;
}

BlockSource StreamFlags::open(const BeginningCheck& check) const {
  check_output_is_no_input(output, {{"--input", input}});
  return open_input(input, lines.rules(), check);
}

void BufferFlag::add_to(CLI::App& app) {
  app.add_option("--buffer-lines", lines, "lines to read ahead for filling batches")
      ->check(at_least(1))
      ->capture_default_str();
}

void add_batch_flags(CLI::App& app, int64_t& batch_size, int64_t& batch_tokens, const BatchUnits& units) {
  app.add_option("--batch-size", batch_size, "maximum number of " + units.texts + " in a batch")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_option("--batch-tokens", batch_tokens, "maximum number of " + units.tokens + " in a batch, padding included")
      ->check(at_least(1))
      ->capture_default_str();
}

CLI::Option* add_output_flag(CLI::App& app, std::string& output) {
  return app
      .add_option("-o,--output", output,
                  "output file, gzipped if its name ends in .gz; by default, or with -, standard output")
      ->type_name("FILE");
}

void LineFlags::add_to(CLI::App& app) {
  app.add_option("--invalid-utf8", invalid_utf8,
                 "what to do with a line that is not valid UTF-8: fail after writing the lines before it, or replace "
                 "the invalid bytes with U+FFFD")
      ->check(one_of({"fail", "replace"}))
      ->capture_default_str();
  app.add_option("--max-line-bytes", max_line_bytes, "stop with an error at a line longer than this")
      ->check(whole_between(1, 1 << 30))
      ->capture_default_str();
}

LineRules LineFlags::rules() const {
  return {invalid_utf8 == "replace" ? InvalidUtf8::replace : InvalidUtf8::fail, max_line_bytes};
}

}  // namespace transmute

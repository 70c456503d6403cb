// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/flag_values.h>
#include <transmute/programs/stream_flags.h>

namespace transmute {

CLI::Option* StreamFlags::add_to(CLI::App& app) {
  CLI::Option* const flag =
      app.add_option("-i,--input", input, "UTF-8 text, a line each, plain or gzipped; default, and -: standard input")
          ->type_name("FILE");
  add_output_flag(app, output);
  lines.add_to(app);
  return flag;
}

BlockSource StreamFlags::open() const {
  return open_input(input, lines.rules());
}

CLI::Option* add_output_flag(CLI::App& app, std::string& output) {
  return app
      .add_option("-o,--output", output,
                  "the file to write, compressed where it ends in .gz; default, and -: standard output")
      ->type_name("FILE");
}

void LineFlags::add_to(CLI::App& app) {
  app.add_option("--invalid-utf8", invalid_utf8,
                 "what a line that is no UTF-8 does: fail, once the lines before it are written, or have U+FFFD in the "
                 "place of its bad bytes")
      ->check(one_of({"fail", "replace"}))
      ->capture_default_str();
  app.add_option("--max-line-bytes", max_line_bytes, "a longer line ends the program: it is hardly a text")
      ->check(between(1, 1 << 30))
      ->capture_default_str();
}

LineRules LineFlags::rules() const {
  return {invalid_utf8 == "replace" ? InvalidUtf8::replace : InvalidUtf8::fail, max_line_bytes};
}

}  // namespace transmute

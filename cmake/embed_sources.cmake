# cmake -DOUTPUT=<file.cpp> -DFOLDER=<folder> -DNAMES=<name>,… -P embed_sources.cmake
# Writes the Python files of a folder into a C++ file: `transmute::torchscript::source(name)`.
set(cases "")
string(REPLACE "," ";" names "${NAMES}")
foreach(name IN LISTS names)
  file(READ "${FOLDER}/${name}.py" text)
  string(APPEND cases "      {\"${name}\", R\"source(${text})source\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made by cmake/embed_sources.cmake from ${FOLDER}.
#include <transmute/translation/torchscript/compiler.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace torchscript {

const std::string& source(const std::string& name) {
  static const std::map<std::string, std::string> sources{
${cases}  };
  const auto found = sources.find(name);
  if (found == sources.end()) throw std::logic_error(\"no TorchScript source \" + name);
  return found->second;
}

}  // namespace torchscript
}  // namespace v0
}  // namespace transmute
")

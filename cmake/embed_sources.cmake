# SPDX-License-Identifier: Apache-2.0
# cmake -DOUTPUT=<file.cpp> -DFOLDER=<folder> -DNAMES=<name>,… [-DEXTENSION=.py] -DNAMESPACE=<name> -DHEADER=<header>
#   -P embed_sources.cmake
# Writes text files of a folder into a C++ file: `transmute::<NAMESPACE>::source(name)`, as HEADER declares it. EXTENSION
# is what the files' names have behind NAMES.
set(cases "")
string(REPLACE "," ";" names "${NAMES}")
foreach(name IN LISTS names)
  file(READ "${FOLDER}/${name}${EXTENSION}" text)
  string(APPEND cases "      {\"${name}\", R\"source(${text})source\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made by cmake/embed_sources.cmake from ${FOLDER}.
#include <transmute/${HEADER}>

#include <map>
#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace ${NAMESPACE} {

const std::string& source(const std::string& name) {
  static const std::map<std::string, std::string> sources{
${cases}  };
  const auto found = sources.find(name);
  if (found == sources.end()) throw std::logic_error(\"no source \" + name);
  return found->second;
}

}  // namespace ${NAMESPACE}
}  // namespace v0
}  // namespace transmute
")

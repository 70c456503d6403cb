#include <transmute/translation/precision.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {

std::string inference_precision_name(InferencePrecision precision) {
  switch (precision) {
    case InferencePrecision::float32:
      return "float32";
    case InferencePrecision::bfloat16:
      return "bfloat16";
    case InferencePrecision::int8:
      return "int8";
    case InferencePrecision::half:
      return "half";
  }
  throw std::invalid_argument("inference_precision_name: no such precision");
}

InferencePrecision inference_precision_from_name(const std::string& name) {
  for (const InferencePrecision precision :
       {InferencePrecision::float32, InferencePrecision::bfloat16, InferencePrecision::int8, InferencePrecision::half})
    if (name == inference_precision_name(precision)) return precision;
  throw std::invalid_argument("precision \"" + name + "\" is not one of float32, bfloat16, int8 and half");
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {
inline namespace v0 {
namespace distributed {

/// The way to another machine.
struct Route {
  std::string from, to;  ///< addresses in numbers; empty where there is no way
};

/// The address by which this machine reaches another one, and the other one's. Nothing is sent.
Route route_to(const std::string& host);

/// True if it reaches no other machine; also where it is empty.
bool is_loopback(const std::string& address);

}  // namespace distributed
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {
inline namespace v0 {
namespace distributed {

/// The route to another machine.
struct Route {
  std::string from, to;  ///< numeric addresses; empty if there is no route
};

/// The address by which this machine reaches another one, and the other one's. Nothing is sent.
Route route_to(const std::string& host);

/// True if the address reaches no other machine, or is empty.
bool is_loopback(const std::string& address);

}  // namespace distributed
}  // namespace v0
}  // namespace transmute

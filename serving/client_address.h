// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {
inline namespace v0 {

/// The name under which the requests of an address are counted: an IPv4 address without its port, also where it is
/// mapped into IPv6, and the /64 network of an IPv6 address, whose other half clients choose freely. What is no address
/// stays as it is.
std::string client_of_address(const std::string& address);

}  // namespace v0
}  // namespace transmute

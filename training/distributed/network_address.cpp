// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/distributed/network_address.h>

#include <netdb.h>
#include <sys/socket.h>
#include <transmute/common/files.h>
#include <unistd.h>

namespace transmute {
inline namespace v0 {
namespace distributed {

Route route_to(const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) return {};
  Route route;
  const int probe = ::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_storage own{};
  socklen_t length = sizeof(own);
  char from[NI_MAXHOST] = "", to[NI_MAXHOST] = "";
  if (probe >= 0 && ::connect(probe, found->ai_addr, found->ai_addrlen) == 0 &&
      ::getsockname(probe, reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
      ::getnameinfo(reinterpret_cast<sockaddr*>(&own), length, from, sizeof(from), nullptr, 0, NI_NUMERICHOST) == 0 &&
      ::getnameinfo(found->ai_addr, found->ai_addrlen, to, sizeof(to), nullptr, 0, NI_NUMERICHOST) == 0)
    route = {from, to};
  if (probe >= 0) ::close(probe);
  ::freeaddrinfo(found);
  return route;
}

bool is_loopback(const std::string& address) {
  return address.empty() || address == "::1" || begins_with(address, "127.");
}

}  // namespace distributed
}  // namespace v0
}  // namespace transmute

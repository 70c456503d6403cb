// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace transmute::testing {

/// A free TCP port of the loopback interface. The system chooses it, so tests that run at the same time rarely get the
/// same one. @throws std::runtime_error if there is none.
inline int free_port() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  const bool found = listener >= 0 && ::bind(listener, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  if (listener >= 0) ::close(listener);
  if (!found) throw std::runtime_error("no free port on the loopback interface");
  return ntohs(address.sin_port);
}

}  // namespace transmute::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace transmute {
inline namespace v0 {

/// A free TCP port of the loopback interface. The system chooses it, so processes that ask at the same time rarely get
/// the same one.
/// @throws std::runtime_error if there is none.
inline int free_loopback_port() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  const bool found = listener >= 0 && ::bind(listener, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  const int error = errno;
  if (listener >= 0) ::close(listener);
  if (!found) throw std::runtime_error(std::string("no free port on the loopback interface: ") + std::strerror(error));
  return ntohs(address.sin_port);
}

}  // namespace v0
}  // namespace transmute

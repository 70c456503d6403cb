// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

namespace transmute {
inline namespace v0 {

/// Puts off pthread_cancel of the calling thread, which would unwind its stack: while threads that it waits for still
/// use what is there, through functions that throw nothing, or into a handler that keeps every exception.
class NoCancellation {
 public:
  NoCancellation() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { ::pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace v0
}  // namespace transmute

// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ttt::emulator {

/// A place in device code, taken by default arguments.
using Site = std::source_location;

inline bool same_place(const Site& a, const Site& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         std::string_view(a.file_name()) == b.file_name();
}

inline std::string to_string(const Site& site) {
  return std::string(site.file_name()) + ":" + std::to_string(site.line());
}

/// What is wrong with a kernel. The message names the block, the thread and the place.
class Fault : public std::runtime_error {
 public:
  enum class Kind {
    barrier,        ///< __syncthreads not reached by all threads, or at different places
    warp,           ///< shuffle, vote, __syncwarp or tile instruction not reached by its whole mask
    uninitialised,  ///< shared memory read before it was written
    bounds,         ///< shared memory accessed outside its allocation
    alignment,      ///< vector access to shared memory at a place it must not start at
    race,           ///< shared memory accessed by two threads, one writing, with no barrier between
    launch,         ///< impossible launch, or not enough shared memory
  };
  Fault(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace ttt::emulator

// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/version.h"

#include "ttt_build_info.h"  // written by cmake/WriteBuildInfo.cmake at each build

namespace ttt {

const BuildInfo& build_info() {
  static const BuildInfo info{TTT_BUILD_VERSION, TTT_BUILD_COMMIT,       TTT_BUILD_COMPILER,
                              TTT_BUILD_TYPE,    TTT_BUILD_LIBTORCH,     TTT_BUILD_CUDA,
                              TTT_BUILD_CUDNN,   TTT_BUILD_ARCHITECTURES};
  return info;
}

}  // namespace ttt

// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ttt {

/// What this binary was built from and with.
struct BuildInfo {
  std::string version;  ///< e.g. "0.1.0"
  std::string commit;   ///< short hash, with "-dirty" when the tree had changes; may be empty
  std::string compiler;
  std::string build_type;
  std::string libtorch;
  std::string cuda;           ///< toolkit version of the CUDA ops, or "none"
  std::string cudnn;          ///< version of cuDNN the CUDA ops use, or "none"
  std::string architectures;  ///< CPU instruction sets and CUDA architectures with own code
};

const BuildInfo& build_info();

}  // namespace ttt

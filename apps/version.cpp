// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/version.h"

#include "core/version.h"

#include <spdlog/fmt/fmt.h>

namespace ttt::cli {

std::string version_text() {
  const BuildInfo& build = build_info();
  return fmt::format(
      "ttt {}\n"
      "commit         {}\n"
      "LibTorch       {}\n"
      "CUDA           {}\n"
      "cuDNN          {}\n"
      "compiler       {}, {}\n"
      "architectures  {}\n",
      build.version, build.commit.empty() ? "unknown" : build.commit, build.libtorch, build.cuda,
      build.cudnn, build.compiler, build.build_type, build.architectures);
}

}  // namespace ttt::cli

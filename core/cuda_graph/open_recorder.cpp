// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/cuda_graph/recorder.h"
#include "core/error.h"

#include <dlfcn.h>

namespace ttt {

std::unique_ptr<GraphRecorder> open_cuda_graph_recorder() {
  void* module = ::dlopen("libttt_cuda_graph.so", RTLD_NOW | RTLD_LOCAL);
  void* create = module != nullptr ? ::dlsym(module, "ttt_create_cuda_graph_recorder") : nullptr;
  if (create == nullptr) {
    const char* message = ::dlerror();
    throw Error(ErrorKind::device,
                std::string("the library for CUDA graphs can't be opened: ") +
                    printable(message != nullptr ? message : "unknown reason"),
                "libttt_cuda_graph.so", "use --cuda-graph off");
  }
  return std::unique_ptr<GraphRecorder>(reinterpret_cast<GraphRecorder* (*)()>(create)());
}

}  // namespace ttt

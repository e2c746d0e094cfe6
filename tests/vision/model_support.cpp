// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/vision/model_support.h"

#include "layers/module_weights.h"
#include "tests/support/fill.h"

#include <torch/torch.h>

namespace ttt::test {

TensorMap read_all(const std::filesystem::path& path) {
  const WeightFile file = WeightFile::open(path);
  TensorMap tensors;
  for (const TensorInfo& info : file.tensors()) tensors[info.name] = file.read(info.name);
  return tensors;
}

std::shared_ptr<vision::ClassificationModel> filled_model(const vision::ModelSpec& spec) {
  auto model = spec.build();
  const torch::NoGradGuard no_grad;
  for (const ParameterSlot& slot : layers::parameter_slots(*model)) {
    if (slot.name.ends_with("num_batches_tracked")) {
      slot.destination.zero_();
    } else {
      slot.destination.copy_(fill_weight(slot.name, slot.destination.sizes()));
    }
  }
  model->eval();
  return model;
}

std::shared_ptr<vision::ClassificationModel> loaded_model(const std::filesystem::path& path,
                                                          const std::string& weights_key) {
  const WeightFile file = WeightFile::open(path, {weights_key});
  auto model = vision::recognize_model({file.tensors(), file.metadata()}).value().build();
  const auto slots = layers::parameter_slots(*model);
  load_state_dict(file, slots, {.ignored = vision::ignored_tensors()});
  model->eval();
  return model;
}

TracedRun run_traced(const vision::ClassificationModel& model, const at::Tensor& images,
                     ops::Backend backend) {
  const c10::InferenceMode inference;
  TracedRun run;
  vision::ForwardContext context;
  context.backend = backend;
  context.trace = [&](const std::string& name, const at::Tensor& value) {
    run.trace[name] = value.clone();
  };
  run.output = model.forward(images, context);
  return run;
}

}  // namespace ttt::test

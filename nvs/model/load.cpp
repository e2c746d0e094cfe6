// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/log.h"
#include "core/weights/state_dict.h"
#include "layers/module_weights.h"
#include "nvs/model/lvsm.h"

#include <spdlog/fmt/fmt.h>

namespace ttt::nvs {
namespace {

struct ChosenConfig {
  LvsmConfig config;
  std::string origin;
};

ChosenConfig choose_config(const WeightFile& file, const std::string& config_file) {
  if (!config_file.empty()) return {read_lvsm_config(config_file), printable(config_file)};
  const std::string where = printable(file.path().string());
  const auto stored = file.metadata().find(kConfigMetadata);
  if (stored != file.metadata().end())
    return {config_from_json(stored->second, where), "the weight file's metadata"};
  const std::optional<DerivedConfig> derived = derive_lvsm_config(file.tensors());
  TTT_CHECK(derived, weights, "these are not the weights of a LaCT-LVSM model", where,
            "`ttt inspect` shows what the file holds");
  try {
    check_config(derived->config, where);
  } catch (const Error& error) {
    throw Error(ErrorKind::weights, error.message(), where,
                "shapes don't tell everything: give the model's --config FILE.yaml");
  }
  return {derived->config, "the weights' shapes, with " + derived->assumed};
}

}  // namespace

LoadedLvsm load_lvsm(const LvsmFile& options) {
  const WeightFile file = WeightFile::open(options.weights, {options.weights_key});
  ChosenConfig chosen = choose_config(file, options.config);
  auto model = std::make_shared<LvsmModel>(chosen.config);
  // What may be missing must not be left to chance.
  if (!options.allow_missing.empty()) model->initialize(0);
  const LoadOptions load{.allow_missing = options.allow_missing,
                         .allow_unexpected = options.allow_unexpected,
                         .suggestion = [&]() -> std::string {
                           const std::optional<DerivedConfig> derived =
                               derive_lvsm_config(file.tensors());
                           if (!derived) return "`ttt inspect` shows what the file holds";
                           const std::string name = derived->config.name();
                           if (name == chosen.config.name())
                             return "the file seems to be incomplete or changed";
                           return "these are the weights of " + name +
                                  "; give its configuration, or leave out --config";
                         }};
  log_debug("{}", summary(load_state_dict(file, layers::parameter_slots(*model), load)));
  model->eval();
  return {std::move(model), file, std::move(chosen.origin)};
}

}  // namespace ttt::nvs

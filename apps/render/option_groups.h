// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/render/options.h"

/// Options of `ttt render` that `ttt view` has too. Each adds rows to the table; `options` must
/// outlive it.
namespace ttt::cli {

void add_scene_options(OptionTable& table, RenderOptions& options);
/// Begins the group of views.
void add_input_view_options(OptionTable& table, RenderOptions& options);
/// Begins the group of cameras.
void add_world_options(OptionTable& table, RenderOptions& options);
void add_model_options(OptionTable& table, RenderOptions& options);
/// Begins the group of scene states.
void add_state_options(OptionTable& table, RenderOptions& options);
/// Into the present group.
void add_size_options(OptionTable& table, RenderOptions& options);
void add_running_options(OptionTable& table, RenderOptions& options);
/// Whether a --config file is a model's configuration rather than one of options, as the official
/// tools have it.
bool is_model_config(const std::string& path);
/// Lets --config FILE stand for --model-config where the file is one.
void take_model_config(OptionTable& table, const RenderOptions& options);

}  // namespace ttt::cli

// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/contents.h"
#include "core/weights/mapped_file.h"

namespace ttt::weights {

/// Reads a zip file written by torch.save: finds `<folder>/data.pkl` under any folder name, chooses
/// the dictionary and checks every tensor against the record of its storage. Throws Error(weights)
/// for zip files of other kinds, naming them.
Contents open_torch_archive(std::shared_ptr<const MappedFile> file, const std::string& weights_key);

}  // namespace ttt::weights

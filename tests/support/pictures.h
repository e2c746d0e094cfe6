// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/inputs/inputs.h"
#include "core/media/image.h"

#include <filesystem>

namespace ttt::test {

/// A picture whose every pixel is different.
Image gradient_picture(int width, int height);

/// <folder>/<class>/N.png, `per_class` pictures of `size` pixels for each of `classes` classes, in
/// colours that tell the classes apart.
void write_class_folders(const std::filesystem::path& folder, int classes, int per_class, int size);

}  // namespace ttt::test

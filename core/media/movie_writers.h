// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/atomic_file.h"
#include "core/media/frame_writer.h"

/// The writers behind make_frame_writer(). Private to core/media.
namespace ttt::codec {

std::unique_ptr<FrameWriter> make_gif_writer(const std::filesystem::path& path,
                                             const FrameWriterOptions& options);
/// H.264 in .mp4 or motion JPEG in .avi, through OpenCV.
std::unique_ptr<FrameWriter> make_video_writer(const std::filesystem::path& path,
                                               const FrameWriterOptions& options);

/// Checks that pictures are not empty and of one size. Throws Error(internal).
void check_frame(const Image& first, const Image& image);

}  // namespace ttt::codec

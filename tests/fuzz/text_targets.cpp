// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/inputs.h"
#include "core/inputs/paths.h"
#include "core/inputs/tar.h"
#include "core/inputs/text.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/target.h"
#include "vision/design_space/config.h"
#include "vision/labels.h"
#include "vision/weights_metadata.h"

#include <algorithm>
#include <cmath>

namespace ttt::fuzz {
namespace {

std::span<const std::uint8_t> as_bytes(std::string_view bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

std::string_view as_text(const std::vector<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Runs an action; its Error becomes part of the digest.
template <typename Action>
bool succeeds(Digest& digest, std::initializer_list<ErrorKind> allowed, Action action) {
  try {
    action();
    return true;
  } catch (const Error& error) {
    check_error(error, allowed, false, digest);
    return false;
  }
}

Outcome read_tar(std::string_view bytes) {
  Digest digest;
  const std::string path = memory_file(bytes);
  inputs::is_tar(path);
  const bool accepted = succeeds(digest, {ErrorKind::input}, [&] {
    const inputs::TarArchive archive(path);
    std::uint64_t read = 0;
    for (const inputs::TarArchive::Entry& entry : archive.entries()) {
      digest.add(entry.name);
      // Hard links can name one file any number of times.
      if (read > bytes.size()) continue;
      succeeds(digest, {ErrorKind::input}, [&] {
        const std::vector<std::uint8_t> content = archive.read(entry);
        require(content.size() == entry.size, "a file in an archive has another size");
        read += content.size();
        digest.add(as_text(content));
      });
    }
  });
  return {accepted, digest.value()};
}

/// A folder with an archive and pictures, or their names at least.
const Folder& input_folder() {
  static const Folder folder = [] {
    Folder made;
    for (const char* name : {"a.png", "b.jpg", "notes.txt"}) made.write(name, "content");
    made.write("c.tar", read_bytes(source_folder() / "tests/fuzz/corpus/tar/ustar.tar"));
    // Names are looked up in the working folder too.
    std::filesystem::current_path(made.path());
    return made;
  }();
  return folder;
}

/// Without the ways out of its folder, so that a mutant doesn't search the machine.
std::string confined(std::string_view bytes) {
  std::string text(bytes);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '/' || c == '\\'; }, '_');
  for (std::size_t at = 0; (at = text.find("..", at)) != std::string::npos;) text[at] = '_';
  return text;
}

Outcome read_inputs(const char* name, std::string_view bytes) {
  Digest digest;
  const std::string path = input_folder().write(name, confined(bytes));
  const bool accepted =
      succeeds(digest, {ErrorKind::input, ErrorKind::unsupported, ErrorKind::usage}, [&] {
        const InputSet set = expand_inputs({.arguments = {path}, .lists = {}});
        require(!set.items.empty(), "a list gave nothing, but no error");
        constexpr std::size_t kRead = 20;
        for (std::size_t i = 0; i < set.items.size(); ++i) {
          digest.add(set.items[i].name);
          digest.add(set.items[i].class_name);
          if (i < kRead)
            succeeds(digest, {ErrorKind::input, ErrorKind::unsupported, ErrorKind::usage},
                     [&] { digest.add(as_text(set.items[i].read())); });
        }
        for (const std::string& label : set.class_names) digest.add(label);
      });
  return {accepted, digest.value()};
}

Outcome read_list(std::string_view bytes) {
  return read_inputs("list.txt", bytes);
}

Outcome read_table(std::string_view bytes) {
  return read_inputs("table.csv", bytes);
}

Outcome read_labels(std::string_view bytes) {
  Digest digest;
  const std::string path = memory_file(bytes);
  const bool accepted = succeeds(digest, {ErrorKind::input}, [&] {
    const vision::LabelSet labels = vision::LabelSet::from_file(path);
    const auto count = static_cast<std::int64_t>(labels.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string name = labels.name(i);
      digest.add(name);
      const auto found = labels.find(name);
      require(!found || (*found >= 0 && *found < count), "a label has a strange index");
    }
  });
  return {accepted, digest.value()};
}

Outcome read_metadata(std::string_view bytes) {
  Digest digest;
  const vision::Metadata metadata{{"ttt.preprocess", std::string(bytes)},
                                  {"ttt.labels", std::string(bytes)}};
  const bool preprocess = succeeds(digest, {ErrorKind::weights}, [&] {
    const auto options = vision::read_preprocess_metadata(metadata, "file");
    require(options.has_value(), "metadata was not found");
    require(options->width > 0 && options->height > 0 && options->crop_percent > 0 &&
                options->crop_percent <= 1,
            "metadata is out of range");
    for (std::size_t c = 0; c < 3; ++c)
      require(
          std::isfinite(options->mean[c]) && std::isfinite(options->std[c]) && options->std[c] > 0,
          "metadata is out of range");
  });
  const bool labels = succeeds(digest, {ErrorKind::weights}, [&] {
    for (const std::string& label : vision::read_label_metadata(metadata, "file"))
      digest.add(label);
  });
  const bool inner = succeeds(digest, {ErrorKind::weights}, [&] {
    const vision::StoredInner stored = vision::read_inner_metadata(std::string(bytes), "file");
    require(vision::parse_inner(vision::settings_of(stored.config)) == stored.config,
            "inner settings don't survive");
    for (const std::int64_t heads : stored.heads) require(heads > 0, "metadata is out of range");
    digest.add(vision::inner_metadata(stored));
  });
  return {preprocess || labels || inner, digest.value()};
}

/// The first lines as names and patterns.
Outcome compare_names(std::string_view bytes) {
  const std::vector<std::string> lines = read_text_lines(as_bytes(bytes));
  static_cast<void>(looks_like_text(as_bytes(bytes)));
  if (lines.size() < 2) return {};
  const std::string& a = lines[0];
  const std::string& b = lines[1];
  require(
      !(inputs::natural_less(a, b) && inputs::natural_less(b, a)) && !inputs::natural_less(a, a),
      "the natural order is none");
  const bool matched = inputs::matches(a, b);
  return {matched, static_cast<std::uint64_t>(matched)};
}

}  // namespace

std::vector<Target> text_targets() {
  constexpr std::uint64_t kBase = std::uint64_t{8} << 20;
  // The system is asked about every entry of a list.
  constexpr std::size_t kMaxList = 1 << 14;
  return {
      {"tar", tar_format, {{"tests/fuzz/corpus/tar", ".tar"}}, read_tar, kBase, 256},
      {"list", text_format, {{"tests/fuzz/corpus/list", ""}}, read_list, kBase, 2000, kMaxList},
      {"table", text_format, {{"tests/fuzz/corpus/table", ""}}, read_table, kBase, 2000, kMaxList},
      {"labels", text_format, {{"tests/fuzz/corpus/labels", ""}}, read_labels, kBase, 512},
      {"metadata", text_format, {{"tests/fuzz/corpus/metadata", ""}}, read_metadata, kBase, 512},
      {"names",
       text_format,
       {{"tests/fuzz/corpus/names", ""}},
       compare_names,
       kBase,
       128,
       kMaxList}};
}

}  // namespace ttt::fuzz

// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/inputs.h"

#include "core/error.h"
#include "core/inputs/labels.h"
#include "core/inputs/paths.h"
#include "core/inputs/read_file.h"
#include "core/inputs/tar.h"
#include "core/inputs/text.h"
#include "core/log.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>

namespace ttt {
namespace {

using namespace inputs;

/// The columns of a table of labels.
struct Columns {
  std::size_t path = 0;
  std::size_t label = 1;
  bool header = false;
};

Columns find_columns(const TableRow& first) {
  static constexpr std::array<std::string_view, 8> kPaths{
      "path", "file", "filename", "file_name", "filepath", "image", "input", "picture"};
  static constexpr std::array<std::string_view, 7> kLabels{
      "label", "class", "class_name", "target", "class_index", "category", "label_name"};
  std::optional<std::size_t> path;
  std::optional<std::size_t> label;
  for (std::size_t i = 0; i < first.fields.size(); ++i) {
    std::string name = first.fields[i];
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    const auto is = [&](const auto& names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (!path && is(kPaths)) path = i;
    if (!label && is(kLabels)) label = i;
  }
  if (path && label) return {*path, *label, true};
  return {};
}

bool is_table_name(const std::string& path) {
  const std::string suffix = suffix_of(path);
  return suffix == "csv" || suffix == "tsv";
}

bool is_list_name(const std::string& path) {
  const std::string suffix = suffix_of(path);
  return suffix == "txt" || suffix == "lst";
}

bool holds_text(const std::string& path) {
  constexpr std::size_t kHead = 512;
  const std::vector<std::uint8_t> head = read_head(path, kHead);
  return !head.empty() && looks_like_text(head) && !begins_like_picture(path);
}

/// Might name an archive or something inside one. Saves a look into every file of a long list.
bool speaks_of_archive(const std::string& path) {
  return path.find(".t") != std::string::npos || path.find(".T") != std::string::npos;
}

/// "photos.tar.gz", "photos.tgz", …: the command that unpacks it, else empty.
std::string unpack_command(const std::string& path) {
  static constexpr auto kSuffixes = std::to_array<std::string_view>(
      {".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".tzst"});
  for (const std::string_view suffix : kSuffixes)
    if (path.ends_with(suffix))
      return fmt::format("unpack it: tar xf {} -C FOLDER, then give the folder", printable(path));
  return {};
}

class Finder {
 public:
  void add_argument(const std::string& argument);
  void add_list(const std::string& path) {
    if (is_table_name(path)) return guard(path, [&] { add_table(path); });
    guard(path, [&] { add_lines(read_text_lines(read_file(path)), folder_of(path)); });
  }
  std::vector<Candidate> finish();

 private:
  /// Where a list's entries are looked up.
  struct Place {
    std::string folder;
    std::optional<std::string> label;
  };

  void add_entry(const std::string& entry, const Place& place);
  bool add_archive(const std::string& argument, const Place& place);
  void add_folder(const std::string& folder, const Place& place);
  void add_pattern(const std::string& pattern, const Place& place);
  void add_file(const std::string& path, const Place& place) {
    add({path, {}, [path] { return read_file(path); }}, place);
  }
  void add_lines(const std::vector<std::string>& lines, const std::string& folder);
  void add_table(const std::string& path);
  void add_standard_input();

  void add(InputItem item, const Place& place) {
    if (place.label) item.class_name = *place.label;
    found_any_ = true;
    candidates_.push_back({std::move(item), place.label.has_value()});
  }
  /// Keeps the place of what can't be used.
  void add_error(const std::string& name, const Error& error, const Place& place) {
    if (!first_error_) first_error_ = error;
    candidates_.push_back(
        {{name, place.label.value_or(""), [error]() -> std::vector<std::uint8_t> { throw error; }},
         place.label.has_value()});
  }
  template <typename Action>
  void guard(const std::string& name, Action action) {
    try {
      action();
    } catch (const Error& error) {
      add_error(name, error, {});
    }
  }
  static std::string folder_of(const std::string& path) {
    return path.substr(0, path.size() - name_of(path).size());
  }

  std::vector<Candidate> candidates_;
  std::map<std::string, std::shared_ptr<const TarArchive>> archives_;
  std::map<std::string, std::size_t> ignored_;
  std::optional<Error> first_error_;
  bool found_any_ = false;
};

void Finder::add_argument(const std::string& argument) {
  guard(argument, [&] {
    TTT_CHECK(!argument.empty(), usage, "an input is an empty string", {}, "give a file or folder");
    if (argument == "-") return add_standard_input();
    if (argument[0] == '@' && !exists(argument)) return add_list(argument.substr(1));
    if (is_file(argument) && is_table_name(argument) && holds_text(argument))
      return add_table(argument);
    if (is_file(argument) && is_list_name(argument) && holds_text(argument))
      return add_list(argument);
    add_entry(argument, {});
  });
}

/// The entry as it is, else with the separators of Windows turned; below the list's folder, else as
/// it is. The first that exists, or that has a pattern's or archive's matches.
void Finder::add_entry(const std::string& entry, const Place& place) {
  std::vector<std::string> names{entry};
  if (entry.find('\\') != std::string::npos) {
    names.push_back(entry);
    std::replace(names.back().begin(), names.back().end(), '\\', '/');
  }
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    if (!place.folder.empty() && name[0] != '/') paths.push_back(join(place.folder, name));
    paths.push_back(name);
  }
  for (const std::string& path : paths)
    if (is_folder(path)) return add_folder(path, place);
  for (const std::string& path : paths) {
    if (add_archive(path, place)) return;
    if (exists(path)) return add_file(path, place);
  }
  for (const std::string& path : paths)
    if (is_pattern(path) && (path == paths.back() || !glob(path).empty()))
      return add_pattern(path, place);
  // A missing file: reading it says so, in its place.
  const std::string path = paths.front();
  add({path,
       {},
       [path]() -> std::vector<std::uint8_t> {
         if (exists(path)) return read_file(path);  // it has come since
         throw Error(ErrorKind::input, "no such file or folder", printable(path),
                     hint_for_missing(path));
       }},
      place);
}

/// x.tar, x.tar/prefix and x.tar:prefix. False when the argument doesn't name an archive.
bool Finder::add_archive(const std::string& argument, const Place& place) {
  if (!speaks_of_archive(argument)) return false;
  std::string path = argument;
  std::string prefix;
  for (std::size_t end = argument.size(); !is_file(path) && end > 0;) {
    end = argument.find_last_of("/:", end - 1);
    if (end == std::string::npos) return false;
    path = argument.substr(0, end);
    prefix = argument.substr(end + 1);
  }
  if (!is_file(path)) return false;
  if (prefix.empty()) {
    if (const std::string command = unpack_command(path); !command.empty() && !is_tar(path))
      throw Error(ErrorKind::unsupported, "a compressed archive can't be read in place",
                  printable(path), command);
  }
  if (suffix_of(path) != "tar" || !is_tar(path)) return false;
  auto& archive = archives_[path];
  if (archive == nullptr) archive = std::make_shared<const TarArchive>(path);
  while (prefix.ends_with('/')) prefix.pop_back();

  std::vector<const TarArchive::Entry*> chosen;
  bool any = false;
  for (const TarArchive::Entry& entry : archive->entries()) {
    const bool exact = entry.name == prefix;
    if (!prefix.empty() && !exact && !entry.name.starts_with(prefix + "/")) continue;
    any = true;
    const std::vector<std::string> parts = components(entry.name);
    if (std::any_of(parts.begin(), parts.end(),
                    [](const std::string& part) { return is_clutter(part); }))
      continue;
    if (exact || has_picture_suffix(entry.name))
      chosen.push_back(&entry);
    else
      ++ignored_[suffix_of(entry.name)];
  }
  TTT_CHECK(any, input,
            prefix.empty() ? "the archive is empty"
                           : fmt::format("the archive holds no \"{}\"", printable(prefix)),
            printable(path), "list it with tar tf");
  TTT_CHECK(!chosen.empty(), input, "there are no pictures in the archive", printable(argument),
            "list it with tar tf");
  std::sort(chosen.begin(), chosen.end(),
            [](const auto* a, const auto* b) { return natural_less(a->name, b->name); });
  for (const TarArchive::Entry* entry : chosen)
    add({join(path, entry->name), {}, [archive = archive, entry] { return archive->read(*entry); }},
        place);
  return true;
}

void Finder::add_folder(const std::string& folder, const Place& place) {
  const FolderScan scan = scan_folder(folder);
  for (const std::string& suffix : scan.ignored_suffixes) ++ignored_[suffix];
  TTT_CHECK(!scan.files.empty(), input,
            scan.ignored_suffixes.empty()
                ? std::string("the folder is empty")
                : fmt::format("none of the {} files in the folder is a picture",
                              scan.ignored_suffixes.size()),
            printable(folder), "give a folder that holds JPEG, PNG, BMP, WebP, TIFF or GIF files");
  for (const std::string& file : scan.files) add_file(file, place);
}

void Finder::add_pattern(const std::string& pattern, const Place& place) {
  const std::vector<std::string> paths = glob(pattern);
  TTT_CHECK(!paths.empty(), input, "nothing matches the pattern", printable(pattern),
            "check the spelling and the working folder");
  for (const std::string& path : paths)
    if (is_folder(path))
      guard(path, [&] { add_folder(path, place); });
    else
      add_file(path, place);
}

void Finder::add_lines(const std::vector<std::string>& lines, const std::string& folder) {
  std::size_t entries = 0;
  for (const std::string& line : lines) {
    std::string_view entry = trim(line);
    if (entry.empty() || entry[0] == '#') continue;
    if (entry.size() > 2 && entry.front() == '"' && entry.back() == '"')
      entry = entry.substr(1, entry.size() - 2);
    ++entries;
    const std::string name(entry);
    guard(name, [&] { add_entry(name, {folder, {}}); });
  }
  TTT_CHECK(entries > 0, input, "the list is empty", {}, "give one file or folder a line");
}

void Finder::add_table(const std::string& path) {
  const std::string text = decode_text(read_file(path));
  const std::string first_line = text.substr(0, text.find('\n'));
  char delimiter = ',';
  for (const char candidate : {'\t', ';'})
    if (std::count(first_line.begin(), first_line.end(), candidate) >
        std::count(first_line.begin(), first_line.end(), delimiter))
      delimiter = candidate;
  const std::vector<TableRow> rows = parse_table(text, delimiter, path);
  TTT_CHECK(!rows.empty(), input, "the table is empty", printable(path),
            "give lines of the form path,label");
  const Columns columns = find_columns(rows[0]);
  TTT_CHECK(rows.size() > (columns.header ? 1 : 0), input, "the table holds nothing but a header",
            printable(path), "give lines of the form path,label");
  for (std::size_t i = columns.header ? 1 : 0; i < rows.size(); ++i) {
    const std::vector<std::string>& fields = rows[i].fields;
    TTT_CHECK(fields.size() > std::max(columns.path, columns.label) &&
                  !fields[columns.path].empty() && !fields[columns.label].empty(),
              input, fmt::format("line {} lacks a path or a label", rows[i].line), printable(path),
              "give lines of the form path,label");
  }
  for (std::size_t i = columns.header ? 1 : 0; i < rows.size(); ++i) {
    const std::vector<std::string>& fields = rows[i].fields;
    const std::string& name = fields[columns.path];
    const Place place{folder_of(path), fields[columns.label]};
    try {
      add_entry(name, place);
    } catch (const Error& error) {
      add_error(name, error, place);
    }
  }
}

void Finder::add_standard_input() {
  const std::string bytes{std::istreambuf_iterator<char>(std::cin), {}};
  std::string text =
      decode_text({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  // What "find -print0" writes.
  if (text.find('\0') != std::string::npos) {
    std::erase(text, '\n');
    std::replace(text.begin(), text.end(), '\0', '\n');
  }
  add_lines(split_lines(text), {});
}

std::vector<Candidate> Finder::finish() {
  if (!ignored_.empty()) {
    std::vector<std::string> counts;
    for (const auto& [suffix, count] : ignored_) {
      counts.push_back(suffix.empty() ? fmt::format("{} without suffix", count)
                                      : fmt::format("{} .{}", count, printable(suffix)));
    }
    log_info("left out, being no pictures: {}", fmt::join(counts, ", "));
  }
  if (!found_any_ && first_error_) throw *first_error_;
  TTT_CHECK(!candidates_.empty(), usage, "no input", {}, "give files or folders");
  return std::move(candidates_);
}

}  // namespace

InputSet expand_inputs(const InputOptions& options) {
  Finder finder;
  for (const std::string& argument : options.arguments) finder.add_argument(argument);
  for (const std::string& list : options.lists) finder.add_list(list);
  std::vector<Candidate> candidates = finder.finish();
  InputSet set;
  set.split = choose_split(candidates, options.split);
  find_labels(candidates, set);
  set.items.reserve(candidates.size());
  for (Candidate& candidate : candidates) set.items.push_back(std::move(candidate.item));
  return set;
}

}  // namespace ttt

// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ttt {

/// One picture to work on: a name and a way to get its bytes.
struct InputItem {
  /// As shown to the user; the bytes of a path, not necessarily UTF-8.
  std::string name;
  /// The label that came with the item: its folder's name or its table entry; empty without labels.
  std::string class_name;
  /// The bytes of the file. Throws Error(input), naming the item, when it can't be read. May be
  /// called from any thread.
  std::function<std::vector<std::uint8_t>()> read;
};

enum class LabelSource {
  none,
  folders,  ///< every item lies in a class folder, all of them below one root
  table,    ///< a CSV or TSV file of paths and labels
};

struct InputOptions {
  /// In the order of the command line. Each is one of
  /// - a file, whatever its name;
  /// - a folder: its pictures at any depth, in natural order (`2.jpg` before `10.jpg`); entries
  /// whose
  ///   names begin with a dot are skipped, links are followed, loops of links are not;
  /// - a pattern with `*`, `?`, `[…]` and `**` (any number of folders), for shells that don't
  /// expand it;
  /// - `@list.txt`, or a text file named .txt or .lst: one entry a line, relative to the list's
  /// folder
  ///   or else to the working folder; empty lines and lines that begin with `#` don't count;
  /// - a .csv or .tsv file: paths and labels, with or without a header line;
  /// - `-`: a list on standard input, also with entries that end in zero bytes;
  /// - `x.tar`, `x.tar/folder`, `x.tar:folder`: an archive, read in place, or a part of it.
  /// What is named twice is there twice.
  std::vector<std::string> arguments;
  /// Further list files (--list), after the arguments.
  std::vector<std::string> lists;
  /// Which part to take of pictures that lie in <split>/<class>/file, with several of the splits
  /// test, val, valid, validation and train: "auto" (test, else val, valid, validation), "all" or a
  /// name.
  std::string split = "auto";
};

struct InputSet {
  std::vector<InputItem> items;
  LabelSource label_source = LabelSource::none;
  /// The labels that occur, in byte order, which is the class order of the official loader; empty
  /// without labels.
  std::vector<std::string> class_names;
  /// The labels of a table are class indices.
  bool labels_are_indices = false;
  /// The split that was taken, where there was a choice; else empty.
  std::string split;
};

/// Finds the pictures. What is named but can't be used (a missing file, an empty folder beside
/// other inputs, a damaged archive or table, …) stays in the set, in its place, as an item whose
/// read() throws. Throws Error(input) or Error(unsupported) when nothing else was found, and
/// Error(usage) for a split that doesn't exist or no arguments at all.
InputSet expand_inputs(const InputOptions& options);

}  // namespace ttt

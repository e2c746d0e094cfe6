// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/result_sink.h"

#include "apps/common/output.h"
#include "apps/common/text.h"
#include "core/atomic_file.h"
#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sys/file.h>
#include <unistd.h>

namespace ttt::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class StreamSink : public ResultSink {
 public:
  StreamSink(int descriptor, std::string name, std::unique_ptr<ResultRenderer> renderer)
      : descriptor_(descriptor), name_(std::move(name)), renderer_(std::move(renderer)) {
    pending_ = renderer_->begin();
  }
  ~StreamSink() override {
    if (descriptor_ != STDOUT_FILENO) ::close(descriptor_);
  }
  StreamSink(const StreamSink&) = delete;
  StreamSink& operator=(const StreamSink&) = delete;

  void row(const Json& row) override {
    write_descriptor(descriptor_, pending_ + renderer_->row(row), name_);
    pending_.clear();
  }
  void finish(const Json& summary, bool /*complete*/) override {
    write_descriptor(descriptor_, pending_ + renderer_->end(summary), name_);
  }

 private:
  int descriptor_;
  std::string name_;
  std::unique_ptr<ResultRenderer> renderer_;
  std::string pending_;
};

Error output_error(const std::string& what, const std::string& path, const std::string& hint) {
  return {ErrorKind::output, what, printable(path), hint};
}

int open_locked(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    throw output_error(std::string("can't write the file: ") + std::strerror(errno), path,
                       "choose a path in a folder that can be written");
  // File systems without locks don't protect from a second run, but must not forbid the first.
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(descriptor);
    throw output_error("another run is writing this output", path,
                       "wait for it, or choose another output");
  }
  return descriptor;
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

std::unique_ptr<ResultSink> make_stream_sink(const std::string& output,
                                             std::unique_ptr<ResultRenderer> renderer) {
  if (to_stdout(output))
    return std::make_unique<StreamSink>(STDOUT_FILENO, "standard output", std::move(renderer));
  const int descriptor = ::open(output.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0)
    throw output_error(std::string("can't write: ") + std::strerror(errno), output,
                       "choose another output");
  return std::make_unique<StreamSink>(descriptor, printable(output), std::move(renderer));
}

void FileSink::check(const Settings& settings) {
  const bool keep = !settings.overwrite && !settings.resume;
  check_writable(settings.output, !keep);
  if (keep && exists(settings.output + ".partial"))
    throw output_error("an unfinished result is there already", settings.output + ".partial",
                       "give --resume to go on with it, or --overwrite to start anew");
}

bool FileSink::has_earlier(const std::string& output) {
  return exists(output) || exists(output + ".partial");
}

FileSink::FileSink(Settings settings, std::unique_ptr<ResultRenderer> renderer)
    : settings_(std::move(settings)),
      renderer_(std::move(renderer)),
      partial_(settings_.output + ".partial") {
  check(settings_);
  const bool has_partial = exists(partial_);
  descriptor_ = open_locked(partial_);
  // A kept result without a partial file is a finished one; only JSON lines can be read back.
  if (settings_.resume && (has_partial || exists(settings_.output)))
    take_over(has_partial ? partial_ : settings_.output);
  if (::ftruncate(descriptor_, size_) != 0 || ::lseek(descriptor_, size_, SEEK_SET) < 0)
    throw output_error(std::string("can't write the file: ") + std::strerror(errno), partial_,
                       "choose another output");
}

FileSink::~FileSink() {
  if (descriptor_ < 0) return;
  // A run that failed before its first row leaves nothing behind.
  if (lines_.empty()) ::unlink(partial_.c_str());
  ::close(descriptor_);
}

void FileSink::take_over(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> kept;
  std::string text;
  for (std::int64_t number = 1; std::getline(file, text); ++number) {
    const bool cut = file.eof();  // no line feed: the run was killed while it wrote this
    const Json row = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (cut && row.is_discarded()) break;
    if (!row.is_object() || !row.contains("status") || !row["status"].is_string())
      throw output_error(fmt::format("line {} is not a result row", number), path,
                         "only JSON lines can be resumed; give --overwrite to start anew");
    if (row["status"] == "ok") kept.push_back(text);
  }
  if (file.bad()) throw output_error("can't read the earlier results", path, "check the disk");
  // All is read before the first write: both may be the same file. A crash in between loses at most
  // the rows that were rewritten but not yet on disk, which is why the copy has its own name.
  const std::string copy = partial_ + ".tmp";
  const int target = open_locked(copy);
  ::close(std::exchange(descriptor_, target));
  if (::ftruncate(descriptor_, 0) != 0)
    throw output_error("can't write the file", copy, "choose another output");
  for (const std::string& line : kept) {
    const std::string name = get_name(Json::parse(line), "input");
    ++finished_[name];
    append(line + "\n", name);
  }
  if (::fsync(descriptor_) != 0 || ::rename(copy.c_str(), partial_.c_str()) != 0)
    throw output_error(std::string("can't write the file: ") + std::strerror(errno), partial_,
                       "choose another output");
}

void FileSink::append(const std::string& text, std::string name) {
  write_descriptor(descriptor_, text, partial_);
  lines_.push_back({size_, text.size(), std::move(name)});
  size_ += static_cast<std::int64_t>(text.size());
}

std::string FileSink::read(const Line& line) const {
  std::string text(line.length, '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::pread(descriptor_, text.data() + done, text.size() - done,
                                  line.offset + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw output_error("can't read back the results", partial_, "check the disk");
    done += static_cast<std::size_t>(count);
  }
  return text;
}

void FileSink::visit_finished(const std::function<void(const Json&)>& visit) const {
  for (const Line& line : lines_) visit(Json::parse(read(line)));
}

void FileSink::row(const Json& row) {
  append(dump_json(row) + "\n", get_name(row, "input"));
}

void FileSink::sort_lines() {
  // A name may stand in the list twice; its rows then take the places in turn.
  std::map<std::string, std::vector<std::size_t>> places;
  for (std::size_t i = order_.size(); i-- > 0;) places[order_[i]].push_back(i);
  std::vector<std::pair<std::size_t, Line>> placed;
  for (Line& line : lines_) {
    std::vector<std::size_t>& free = places[line.name];
    const std::size_t place = free.empty() ? std::numeric_limits<std::size_t>::max() : free.back();
    if (!free.empty()) free.pop_back();
    placed.emplace_back(place, std::move(line));
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < placed.size(); ++i) lines_[i] = std::move(placed[i].second);
}

void FileSink::finish(const Json& summary, bool complete) {
  if (!finished_.empty()) sort_lines();
  AtomicFile file(settings_.output);
  file.stream() << renderer_->begin();
  for (const Line& line : lines_) file.stream() << renderer_->row(Json::parse(read(line)));
  file.stream() << renderer_->end(summary);
  file.commit();
  if (!complete) return;
  ::unlink(partial_.c_str());
  ::close(std::exchange(descriptor_, -1));
}

}  // namespace ttt::cli

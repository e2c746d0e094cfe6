// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/render/report.h"

#include "apps/common/renderer_choice.h"
#include "apps/common/text.h"
#include "core/error.h"

#include <spdlog/fmt/fmt.h>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kReportDigits = 9;

std::string number_text(const Json& object, const char* key, int decimals) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return "-";
  return fmt::format("{:.{}f}", found->get<double>(), decimals);
}

std::string inner_table(const Json& layers) {
  std::string text =
      fmt::format("  {:<26} {:>10} {:>12} {:>12} {:>10} {:>10} {:>8}\n", "update", "rate",
                  "loss before", "loss after", "gradient", "weights", "change");
  for (const Json& layer : layers)
    text += fmt::format("  {:<26} {:>10.4g} {:>12.5g} {:>12.5g} {:>10.4g} {:>10.4g} {:>7.2f}%\n",
                        layer["layer"].get<std::string>(), layer["learning_rate"].get<double>(),
                        layer["loss_before"].get<double>(), layer["loss_after"].get<double>(),
                        layer["gradient_norm"].get<double>(), layer["weight_norm"].get<double>(),
                        100 * layer["update_ratio"].get<double>());
  return text;
}

std::string mean_line(const Json& scene) {
  const Json& mean = scene["mean"];
  return fmt::format("  mean PSNR {} dB, SSIM {}{} over {} views (PSNR of the mean error {})\n",
                     number_text(mean, "psnr", 2), number_text(mean, "ssim", 4),
                     mean.contains("lpips") ? ", LPIPS " + number_text(mean, "lpips", 4) : "",
                     scene["measured"].get<std::int64_t>(),
                     number_text(scene, "psnr_of_mean_error", 2));
}

/// Views that were reconstructed, or where nothing was, that would have been.
std::size_t inputs_of(const Json& scene) {
  const auto views = scene["input_views"].get<std::size_t>();
  return views > 0 ? views : scene["inputs"].size();
}

/// For people: a line for each picture or movie, then what each scene came to.
class TableRenderer : public ResultRenderer {
 public:
  std::string row(const Json& row) override {
    if (joins_movie(row)) {
      ++frames_;
      return {};
    }
    std::string text = finish_rows();
    const std::string scene = printable(get_name(row, "scene"));
    if (scene != scene_) text += (scene_.empty() ? "" : "\n") + scene + "\n";
    scene_ = scene;
    if (row["status"] == "error") {
      const std::string view = row.contains("view") ? dump_json(row["view"]) : "";
      return text + fmt::format("  {:>6}  error: {}\n", view, row["error"].get<std::string>());
    }
    if (row.contains("file") && !row.contains("psnr")) {
      held_ = row;
      frames_ = 1;
      return text;
    }
    text += fmt::format("  {:>6}", row["view"].get<std::int64_t>());
    if (row.contains("psnr"))
      text += fmt::format("  {:>6} dB  SSIM {:>6}", number_text(row, "psnr", 2),
                          number_text(row, "ssim", 4));
    if (row.contains("lpips")) text += "  LPIPS " + number_text(row, "lpips", 4);
    if (row.contains("file")) text += "  " + printable(get_name(row, "file"));
    return text + "\n";
  }

  std::string end(const Json& summary) override {
    std::string text = finish_rows();
    for (const Json& scene : summary["scenes"]) {
      text += fmt::format("\n{}: {} inputs", printable(get_name(scene, "scene")), inputs_of(scene));
      if (scene.contains("reconstruct_ms"))
        text +=
            fmt::format(", {} tokens reconstructed in {:.0f} ms",
                        scene["tokens"].get<std::int64_t>(), scene["reconstruct_ms"].get<double>());
      if (scene.contains("render_ms_per_view"))
        text += fmt::format(", {:.0f} ms a view", scene["render_ms_per_view"].get<double>());
      text += "\n";
      if (scene.contains("mean")) text += mean_line(scene);
      if (scene.contains("inner")) text += inner_table(scene["inner"]);
    }
    return text;
  }

 private:
  /// Whether a row is one more frame of the file of the row before it.
  bool joins_movie(const Json& row) const {
    return !held_.is_null() && row["status"] != "error" && !row.contains("psnr") &&
           get_name(row, "file") == get_name(held_, "file") &&
           get_name(row, "scene") == get_name(held_, "scene");
  }

  /// The line of the rows that were held back: a picture, or the frames of a movie as one line.
  std::string finish_rows() {
    if (held_.is_null()) return {};
    const std::string file = printable(get_name(held_, "file"));
    const std::string text =
        frames_ == 1 ? fmt::format("  {:>6}  {}\n", held_["view"].get<std::int64_t>(), file)
                     : fmt::format("  {:>6}  frames in {}\n", frames_, file);
    held_ = Json();
    return text;
  }

  std::string scene_;
  Json held_;  ///< a picture without measurements whose file may get more frames
  std::int64_t frames_ = 0;
};

}  // namespace

Json inner_json(std::span<const nvs::FastWeightReport> reports) {
  Json layers = Json::array();
  for (const nvs::FastWeightReport& report : reports)
    layers.push_back({{"layer", report.layer},
                      {"learning_rate", significant(report.learning_rate, kReportDigits)},
                      {"loss_before", significant(report.loss_before, kReportDigits)},
                      {"loss_after", significant(report.loss_after, kReportDigits)},
                      {"gradient_norm", significant(report.gradient_norm, kReportDigits)},
                      {"weight_norm", significant(report.weight_norm, kReportDigits)},
                      {"update_ratio", significant(report.update_ratio, kReportDigits)}});
  return layers;
}

std::unique_ptr<ResultRenderer> make_render_renderer(ResultFormat format, bool perceptual) {
  std::vector<CsvColumn> columns;
  for (const std::string_view name :
       {"scene", "view", "status", "psnr", "ssim", "lpips", "file", "error"})
    if (perceptual || name != "lpips") columns.push_back(field_column(std::string(name)));
  return make_renderer(format, std::move(columns), std::make_unique<TableRenderer>());
}

}  // namespace ttt::cli

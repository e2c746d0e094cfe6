// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/renderer_choice.h"

#include "apps/common/text.h"

namespace ttt::cli {

std::unique_ptr<ResultRenderer> make_renderer(ResultFormat format, std::vector<CsvColumn> columns,
                                              std::unique_ptr<ResultRenderer> table) {
  switch (format) {
    case ResultFormat::jsonl:
      return make_jsonl_renderer();
    case ResultFormat::json:
      return make_json_renderer();
    case ResultFormat::csv:
      return make_csv_renderer(std::move(columns));
    case ResultFormat::table:
      break;
  }
  return table;
}

CsvColumn field_column(const std::string& name) {
  return {name, [name](const nlohmann::ordered_json& row) -> std::string {
            const auto found = row.find(name);
            if (found == row.end() || found->is_null()) return {};
            return found->is_string() ? utf8_text(found->get_ref<const std::string&>())
                                      : dump_json(*found);
          }};
}

}  // namespace ttt::cli

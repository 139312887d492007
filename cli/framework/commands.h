#pragma once
/// Every command of the program: each function declares one, with its options and its action.

namespace warpmer::cli {

class Application;

void add_count_command(Application& application);
void add_plan_command(Application& application);
void add_update_command(Application& application);
/// `union`, `intersect`, `subtract`, `symmetric-difference`, `merge`
void add_set_commands(Application& application);
void add_compare_command(Application& application);
void add_matrix_command(Application& application);
void add_histo_command(Application& application);
void add_dump_command(Application& application);
void add_convert_command(Application& application);
void add_query_command(Application& application);
void add_qv_command(Application& application);
void add_merqury_command(Application& application);
void add_hetmers_command(Application& application);
void add_filter_command(Application& application);
void add_positions_command(Application& application);
void add_locate_command(Application& application);
void add_serve_command(Application& application);
/// `add`, `remove`
void add_live_commands(Application& application);
void add_save_command(Application& application);
void add_stats_command(Application& application);
void add_report_command(Application& application);
void add_info_command(Application& application);
void add_watch_command(Application& application);
void add_devices_command(Application& application);
void add_names_command(Application& application);
void add_help_command(Application& application);
void add_completion_command(Application& application);

}  // namespace warpmer::cli

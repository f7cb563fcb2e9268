/* What format= of sreport may name. Slurm's reports about clusters share one list, those about jobs
 * another: a column of which a report knows nothing is accepted, and blank. */
#include "cli/reports/sreport.h"

#define COLUMN(word, n, title, wide, what) COLUMN_TOO(word, n, title, wide, what, NULL, 0)
#define COLUMN_TOO(word, n, title, wide, what, other, m)                                           \
    {                                                                                              \
        .key = word, .least = n, .header = title, .width = wide, .kind = what, .also = other,      \
        .also_least = m                                                                            \
    }

/* Where two words differ, both have all of their letters: "planned" is no "planneddown". */
const struct report_column use_columns[USE_COLUMNS] = {
    [USE_ACCOUNTS] = COLUMN("accounts", 2, "Account", 15, CELL_TEXT),
    [USE_ALLOCATED] = COLUMN("allocated", 2, "Allocated", 12, CELL_BLANK),
    [USE_CLUSTER] = COLUMN("cluster", 2, "Cluster", 9, CELL_TEXT),
    [USE_DOWN] = COLUMN("down", 1, "Down", 10, CELL_BLANK),
    [USE_ENERGY] = COLUMN("energy", 1, "Energy", 8, CELL_USE),
    [USE_IDLE] = COLUMN("idle", 1, "Idle", 12, CELL_BLANK),
    [USE_LOGIN] = COLUMN("login", 1, "Login", 9, CELL_TEXT),
    [USE_OVER] = COLUMN("overcommitted", 1, "Over Comm", 9, CELL_BLANK),
    [USE_PLANNED_DOWN] = COLUMN("planneddown", 2, "PLND Down", 10, CELL_BLANK),
    [USE_PLANNED] = COLUMN_TOO("planned", 7, "Planned", 9, CELL_BLANK, "reserved", 3),
    [USE_PROPER] = COLUMN("proper", 2, "Proper Name", 15, CELL_TEXT),
    [USE_REPORTED] = COLUMN("reported", 3, "Reported", 12, CELL_BLANK),
    [USE_TRES_COUNT] = COLUMN_TOO("trescount", 5, "TRES Count", 10, CELL_COUNT, "count", 2),
    [USE_TRES_NAME] = COLUMN("tresname", 5, "TRES Name", 14, CELL_TEXT),
    [USE_USED] = COLUMN("used", 1, "Used", 8, CELL_USE),
    [USE_WCKEY] = COLUMN("wckey", 2, "WCKey", 15, CELL_TEXT),
};

const struct report_column utilization_columns[USE_COLUMNS] = {
    [USE_ACCOUNTS] = COLUMN("accounts", 2, "Account", 15, CELL_TEXT),
    [USE_ALLOCATED] = COLUMN("allocated", 2, "Allocated", 8, CELL_USE),
    [USE_CLUSTER] = COLUMN("cluster", 2, "Cluster", 9, CELL_TEXT),
    [USE_DOWN] = COLUMN("down", 1, "Down", 8, CELL_USE),
    [USE_ENERGY] = COLUMN("energy", 1, "Energy", 8, CELL_USE),
    [USE_IDLE] = COLUMN("idle", 1, "Idle", 8, CELL_USE),
    [USE_LOGIN] = COLUMN("login", 1, "Login", 9, CELL_TEXT),
    [USE_OVER] = COLUMN("overcommitted", 1, "Over Comm", 8, CELL_USE),
    [USE_PLANNED_DOWN] = COLUMN("planneddown", 2, "PLND Down", 8, CELL_USE),
    [USE_PLANNED] = COLUMN_TOO("planned", 7, "Planned", 8, CELL_USE, "reserved", 3),
    [USE_PROPER] = COLUMN("proper", 2, "Proper Name", 15, CELL_TEXT),
    [USE_REPORTED] = COLUMN("reported", 3, "Reported", 8, CELL_USE),
    [USE_TRES_COUNT] = COLUMN_TOO("trescount", 5, "TRES Count", 10, CELL_COUNT, "count", 2),
    [USE_TRES_NAME] = COLUMN("tresname", 5, "TRES Name", 14, CELL_TEXT),
    [USE_USED] = COLUMN("used", 1, "Used", 10, CELL_BLANK),
    [USE_WCKEY] = COLUMN("wckey", 2, "WCKey", 15, CELL_TEXT),
};

const struct report_column top_columns[USE_COLUMNS] = {
    [USE_ACCOUNTS] = COLUMN("accounts", 1, "Account", 15, CELL_TEXT),
    [USE_CLUSTER] = COLUMN("cluster", 1, "Cluster", 9, CELL_TEXT),
    [USE_ENERGY] = COLUMN("energy", 1, "Energy", 8, CELL_USE),
    [USE_LOGIN] = COLUMN("login", 1, "Login", 9, CELL_TEXT),
    [USE_PROPER] = COLUMN("proper", 1, "Proper Name", 15, CELL_TEXT),
    [USE_TRES_NAME] = COLUMN("tresname", 5, "TRES Name", 14, CELL_TEXT),
    [USE_USED] = COLUMN("used", 1, "Used", 8, CELL_USE),
};

const struct report_column resv_columns[RESV_COLUMNS] = {
    [RESV_COL_ALLOCATED] = COLUMN("allocated", 2, "Allocated", 20, CELL_USE),
    [RESV_COL_ASSOCIATIONS] = COLUMN("associations", 2, "Associations", 15, CELL_TEXT),
    [RESV_COL_CLUSTER] = COLUMN("cluster", 2, "Cluster", 9, CELL_TEXT),
    [RESV_COL_END] = COLUMN("end", 2, "End", 19, CELL_TEXT),
    [RESV_COL_FLAGS] = COLUMN("flags", 2, "Flags", 20, CELL_TEXT),
    [RESV_COL_IDLE] = COLUMN("idle", 1, "Idle", 20, CELL_USE),
    [RESV_COL_NAME] = COLUMN("name", 2, "Name", 9, CELL_TEXT),
    [RESV_COL_NODES] = COLUMN("nodes", 2, "Nodes", 15, CELL_TEXT),
    [RESV_COL_ID] = COLUMN("reservationid", 2, "Id", 8, CELL_TEXT),
    [RESV_COL_START] = COLUMN("start", 2, "Start", 19, CELL_TEXT),
    [RESV_COL_TRES_COUNT] = COLUMN_TOO("trescount", 5, "TRES count", 10, CELL_COUNT, "count", 2),
    [RESV_COL_TRES_NAME] = COLUMN("tresname", 5, "TRES Name", 14, CELL_TEXT),
    [RESV_COL_TOTAL] = COLUMN_TOO("trestime", 2, "TRES Time", 9, CELL_USE, "totaltime", 2),
};

const struct report_column sizes_columns[SIZES_COLUMNS] = {
    [SIZES_COL_ACCOUNT] = COLUMN("account", 1, "Account", 9, CELL_TEXT),
    [SIZES_COL_CLUSTER] = COLUMN("cluster", 2, "Cluster", 9, CELL_TEXT),
    [SIZES_COL_TRES_COUNT] = COLUMN_TOO("trescount", 5, "TRES Count", 10, CELL_BLANK, "count", 2),
    [SIZES_COL_DURATION] = COLUMN("duration", 1, "Duration", 12, CELL_BLANK),
    [SIZES_COL_JOBS] = COLUMN("jobcount", 2, "Job Count", 9, CELL_BLANK),
    [SIZES_COL_NODES] = COLUMN("nodecount", 2, "Node Count", 9, CELL_BLANK),
    [SIZES_COL_USER] = COLUMN("user", 1, "User", 9, CELL_TEXT),
    [SIZES_COL_WCKEY] = COLUMN("wckey", 1, "Wckey", 9, CELL_TEXT),
};

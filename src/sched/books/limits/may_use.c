#include "sched/books/limits/may_use.h"

#include "base/list.h"
#include "base/str.h"

#include <string.h>

static bool open_to_all(const char *list)
{
    return text_empty(list) || text_is_nocase(list, "ALL");
}

static enum refusal check_state(const struct partition *p, struct str *detail)
{
    const char *near = !text_empty(p->alternate) ? p->alternate : NULL;
    if (p->state != PART_INACTIVE && p->state != PART_DRAIN)
        return REFUSE_NONE;
    str_addf(detail, "partition %s is %s and takes no new jobs%s%s", p->name,
             p->state == PART_DRAIN ? "drained" : "inactive", near ? "; use " : "",
             near ? near : "");
    return REFUSE_PARTITION_DOWN;
}

static enum refusal check_user(const struct partition *p, const struct applicant *who,
                               struct str *detail)
{
    if (who->uid == 0 ? p->disable_root : p->root_only) {
        str_addf(detail,
                 who->uid == 0 ? "root may not submit to partition %s"
                               : "only root may submit to partition %s",
                 p->name);
        return REFUSE_PARTITION_ACCESS;
    }
    if (who->uid == 0 || open_to_all(p->allow_groups) || !who->groups ||
        list_shares(p->allow_groups, who->groups))
        return REFUSE_NONE;
    str_addf(detail, "partition %s is for members of the groups %s; you are in %s", p->name,
             p->allow_groups, who->groups);
    return REFUSE_PARTITION_ACCESS;
}

/* One pair of lists: as in Slurm, a list that allows some makes one that denies some moot. */
static bool list_admits(const char *allow, const char *deny, const char *word)
{
    if (!open_to_all(allow))
        return !text_empty(word) && list_shares(allow, word);
    return text_empty(deny) || text_empty(word) || !list_shares(deny, word);
}

static void list_text(const struct partition *p, const char *allow, const char *deny,
                      const char *what, const char *option, const char *word, struct str *detail)
{
    str_addf(detail, "partition %s ", p->name);
    if (!open_to_all(allow))
        str_addf(detail, "is for the %s %s", what, allow);
    else
        str_addf(detail, "is not for the %s %s", what, deny);
    if (text_empty(word))
        str_addf(detail, "; the job names none: add %s", option);
    else
        str_addf(detail, "; the job has %s", word);
}

static enum refusal check_lists(const struct partition *p, const struct job_request *req,
                                struct str *detail)
{
    if (!list_admits(p->allow_accounts, p->deny_accounts, req->account)) {
        list_text(p, p->allow_accounts, p->deny_accounts, "accounts", "--account", req->account,
                  detail);
        return REFUSE_ACCOUNT;
    }
    if (!list_admits(p->allow_qos, p->deny_qos, req->qos)) {
        list_text(p, p->allow_qos, p->deny_qos, "QOS", "--qos", req->qos, detail);
        return REFUSE_QOS;
    }
    if (p->req_resv && text_empty(req->reservation)) {
        str_addf(
            detail,
            "partition %s takes only jobs that run in a reservation: name one with --reservation",
            p->name);
        return REFUSE_RESERVATION;
    }
    return REFUSE_NONE;
}

enum refusal may_use_partition(const struct partition *p, const struct job_request *req,
                               const struct applicant *who, struct str *detail)
{
    enum refusal r = check_state(p, detail);
    if (r == REFUSE_NONE)
        r = check_user(p, who, detail);
    return r == REFUSE_NONE && req ? check_lists(p, req, detail) : r;
}

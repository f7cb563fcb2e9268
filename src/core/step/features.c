/* --constraint of a step: which nodes of its job have what it asks for. "[a|b]" takes the arm that
 *   most of the job's nodes satisfy. */
#include "core/step/step.h"

#include "core/step/layout.h"
#include "sched/books/feature.h"

#include <string.h>

static const char *features_of(const struct core *c, const char *node)
{
    const struct noderec *n = node_find(c, node);
    return n && n->n.features ? n->n.features : "";
}

static int32_t nodes_of_arm(const struct core *c, const struct feature_arm *arm,
                            const struct alloc *held)
{
    int32_t n = 0;
    const char *before = NULL;
    bool holds = false;
    for (size_t i = 0; i < held->n; i++) {
        const char *features = features_of(c, held->node[i].node);
        if (!before || strcmp(features, before) != 0) /* most nodes of a job are alike */
            holds = feature_arm_holds(arm, features);
        before = features;
        n += holds;
    }
    return n;
}

static const struct feature_arm *arm_best(const struct core *c, const struct feature_arms *arms,
                                          const struct alloc *held)
{
    const struct feature_arm *best = NULL;
    int32_t most = 0;
    for (size_t i = 0; i < arms->n; i++) {
        int32_t n = nodes_of_arm(c, &arms->arm[i], held);
        if (n > most) {
            best = &arms->arm[i];
            most = n;
        }
    }
    return best;
}

enum refusal step_features_forbid(const struct core *c, const struct job_request *r,
                                  const struct alloc *held, struct arena *a, struct step_want *want,
                                  struct str *detail)
{
    struct feature_arms arms;
    struct err e = {0};
    if (text_empty(r->constraint))
        return REFUSE_NONE;
    if (!feature_parse(r->constraint, a, &arms, &e)) {
        str_add(detail, e.text);
        return REFUSE_FEATURE;
    }
    for (size_t i = 0; i < arms.n; i++)
        if (arms.arm[i].ncount) {
            str_addf(detail,
                     "--constraint=%s: a step cannot count nodes by feature; start a step for each "
                     "feature",
                     r->constraint);
            return REFUSE_FEATURE;
        }
    const struct feature_arm *arm = arm_best(c, &arms, held);
    if (!arm) {
        str_addf(detail, "--constraint=%s: no node of job %llu has that", r->constraint,
                 (unsigned long long)want->job_id);
        return REFUSE_FEATURE;
    }
    for (size_t i = 0; i < held->n; i++)
        want->allowed[i] &= feature_arm_holds(arm, features_of(c, held->node[i].node));
    return REFUSE_NONE;
}

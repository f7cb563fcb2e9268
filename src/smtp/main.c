/* remuda-smtp: hands one letter to a mail server. Started by the controller for each letter, as
 * MailProg is, so that no daemon reads what a server says; it gives up its rights before it speaks.
 *
 * Exit status: 0 sent, if to one recipient at least; EX_TEMPFAIL to be tried again; anything else
 * never. Standard output has the reason in one line; after 0 the recipients that were refused. */
#include "base/alloc.h"
#include "io/process/confine.h"
#include "smtp/letter.h"
#include "smtp/replies.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

#define CONNECT_S 30L
#define ANSWER_S  30L
#define LETTER_S  150L

struct unsent {
    const char *at;
    size_t left;
};

static int never(const char *why)
{
    puts(why);
    return EX_UNAVAILABLE;
}

static size_t data_read(char *buffer, size_t size, size_t n, void *ctx)
{
    struct unsent *u = ctx;
    ASSERT(u->at || u->left == 0);
    size_t part = size * n < u->left ? size * n : u->left;
    memcpy(buffer, u->at, part);
    u->at += part;
    u->left -= part;
    return part;
}

static int heard(CURL *curl, curl_infotype type, char *data, size_t size, void *ctx)
{
    (void)curl;
    if (type == CURLINFO_HEADER_OUT)
        replies_sent(ctx, data, size);
    else if (type == CURLINFO_HEADER_IN)
        replies_came(ctx, data, size);
    return 0;
}

static bool input_read(struct str *out)
{
    char piece[65536];
    for (size_t n; (n = fread(piece, 1, sizeof piece, stdin)) > 0 && out->len < LETTER_MAX_BYTES;)
        str_addn(out, piece, n);
    return !ferror(stdin) && out->len < LETTER_MAX_BYTES && strlen(str_text(out)) == out->len;
}

/* "user:password"; NULL with the reason. Whoever could read it could send mail as the site. */
static const char *login_read(const char *path, struct arena *a, struct err *ret_err)
{
    char line[1024] = "";
    struct stat st;
    FILE *f = fopen(path, "re");
    bool fine = f && fstat(fileno(f), &st) == 0;
    if (!fine)
        err_set(ret_err, ERR_INVALID, "SmtpLogin %s: %s", path, strerror(errno));
    else if ((fine = (st.st_mode & 077) == 0) == false)
        err_set(ret_err, ERR_INVALID, "SmtpLogin %s may be read by others (chmod 600)", path);
    else if ((fine = fgets(line, sizeof line, f) && strchr(line, ':')) == false)
        err_set(ret_err, ERR_INVALID, "SmtpLogin %s has no line user:password", path);
    if (f)
        fclose(f);
    return fine ? arena_strndup(a, line, strcspn(line, "\r\n")) : NULL;
}

static void way_set(CURL *curl, const struct letter *l, const char *login)
{
    static const long hidden[] = {
        [LETTER_TLS_NO] = CURLUSESSL_NONE,
        [LETTER_TLS_TRY] = CURLUSESSL_TRY,
        [LETTER_TLS_REQUIRE] = CURLUSESSL_ALL,
    };
    bool must = l->tls == LETTER_TLS_REQUIRE || (login && l->tls != LETTER_TLS_NO) ||
                strncmp(l->server, "smtps:", 6) == 0;
    curl_easy_setopt(curl, CURLOPT_USE_SSL, must ? (long)CURLUSESSL_ALL : hidden[l->tls]);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, must ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, must ? 2L : 0L);
    if (login)
        curl_easy_setopt(curl, CURLOPT_USERPWD, login);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
#else
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_SMTP | CURLPROTO_SMTPS));
#endif
    curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* none that the environment names */
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
    curl_easy_setopt(curl, CURLOPT_SERVER_RESPONSE_TIMEOUT, ANSWER_S);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, LETTER_S);
}

static struct curl_slist *recipients(const struct letter *l, struct arena *a)
{
    struct curl_slist *list = NULL;
    for (size_t i = 0; i < l->to.n; i++) {
        struct curl_slist *longer = curl_slist_append(list, arena_printf(a, "<%s>", l->to.v[i]));
        CHECK(longer);
        list = longer;
    }
    return list;
}

static int outcome(CURL *curl, CURLcode rc, const struct replies *r, const char *why)
{
    int code = replies_code(r);
    long error = 0;
    if (rc == CURLE_OK || code >= 400) {
        puts(r->refused.len ? str_text(&r->refused) : rc == CURLE_OK ? "" : str_text(&r->last));
        return rc == CURLE_OK ? 0 : code / 100 == 4 ? EX_TEMPFAIL : EX_UNAVAILABLE;
    }
    curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &error);
    printf("%s%s%s\n", *why ? why : curl_easy_strerror(rc), error ? ": " : "",
           error ? strerror((int)error) : "");
    return EX_TEMPFAIL;
}

static int letter_send(const struct letter *l, const char *url, const char *login, struct arena *a)
{
    char why[CURL_ERROR_SIZE] = "";
    struct replies r = {0};
    struct str lines = STR_INIT;
    CURL *curl = curl_easy_init();
    struct curl_slist *to = recipients(l, a);
    CHECK(curl);
    letter_lines_add(&lines, l->message);
    struct unsent u = {str_text(&lines), lines.len};
    way_set(curl, l, login);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_MAIL_FROM, arena_printf(a, "<%s>", l->from));
    curl_easy_setopt(curl, CURLOPT_MAIL_RCPT, to);
    curl_easy_setopt(curl, CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1L);
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, data_read);
    curl_easy_setopt(curl, CURLOPT_READDATA, &u);
    curl_easy_setopt(curl, CURLOPT_VERBOSE, 1L);
    curl_easy_setopt(curl, CURLOPT_DEBUGFUNCTION, heard);
    curl_easy_setopt(curl, CURLOPT_DEBUGDATA, &r);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
    int status = outcome(curl, curl_easy_perform(curl), &r, why);
    curl_slist_free_all(to);
    curl_easy_cleanup(curl);
    replies_done(&r);
    str_done(&lines);
    return status;
}

static int letter_deliver(const char *text, struct arena *a)
{
    struct letter l;
    struct err err = {0};
    int status;
    if (!letter_read(text, a, &l, &err))
        return never(err.text);
    const char *url = letter_url(&l, a), *login = l.login ? login_read(l.login, a, &err) : NULL;
    if (!url)
        status = never(arena_printf(a, "SmtpServer=%s is no server", l.server));
    else if (l.login && !login)
        status = never(err.text);
    else
        status = letter_send(&l, url, login, a);
    letter_done(&l);
    return status;
}

int main(void)
{
    const char *why = NULL;
    struct str text = STR_INIT;
    struct arena *a = arena_new();
    int status;
    confine_process(&why); /* where the kernel has no filters the rest of it holds */
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        status = never("libcurl does not start");
    else if (!input_read(&text))
        status = never("a letter that cannot be read");
    else
        status = letter_deliver(str_text(&text), a);
    curl_global_cleanup();
    arena_free(a);
    str_done(&text);
    return status;
}

#include "unit.h"

#include "base/alloc.h"
#include "base/str.h"
#include "model/grammar/container.h"

#include <string.h>

static struct arena *arena;

static int setup(void **state)
{
    (void)state;
    arena = arena_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static struct container_wish wish;
static struct err err;

static bool asked(struct container_ask ask)
{
    err = (struct err){0};
    return container_ask_read(&ask, arena, &wish, &err);
}

/* As podman and as enroot are told it; or "refused". */
static const char *image(const char *text)
{
    if (!asked((struct container_ask){.image = text})) {
        assert_true(err.code != ERR_NONE && strstr(err.text, "--container-image=") == err.text);
        return "refused";
    }
    if (wish.image.path)
        return arena_printf(arena, "%d %s", (int)wish.image.kind, wish.image.path);
    return arena_printf(arena, "%s %s", container_image_reference(&wish.image, arena),
                        container_image_enroot(&wish.image, arena));
}

static void images(void **state)
{
    (void)state;
    const char *digest = "@sha256:"
                         "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    assert_string_equal(image("alpine"), "docker.io/library/alpine docker://alpine");
    assert_string_equal(image("docker://bitnami/jdk:21"),
                        "docker.io/bitnami/jdk:21 docker://bitnami/jdk:21");
    assert_string_equal(
        image("nvcr.io#nvidia/pytorch:24.01-py3"),
        "nvcr.io/nvidia/pytorch:24.01-py3 docker://nvcr.io#nvidia/pytorch:24.01-py3");
    assert_string_equal(
        image("nvcr.io/nvidia/pytorch:24.01-py3"),
        "nvcr.io/nvidia/pytorch:24.01-py3 docker://nvcr.io#nvidia/pytorch:24.01-py3");
    assert_string_equal(image("$oauthtoken@nvcr.io#nvidia/a"),
                        "nvcr.io/nvidia/a docker://$oauthtoken@nvcr.io#nvidia/a");
    assert_string_equal(image("localhost:5000/a:b"),
                        "localhost:5000/a:b docker://localhost:5000#a:b");
    assert_string_equal(image(arena_printf(arena, "x/y:1%s", digest)),
                        arena_printf(arena, "docker.io/x/y%s docker://x/y:1%s", digest, digest));
    assert_string_equal(image("store#a"), "store:443/a docker://store#a");
    assert_string_equal(image("x/store.org#a"), "refused");
    assert_string_equal(image("/images/a.sqsh"), "1 /images/a.sqsh");
    assert_string_equal(image("./a.sif"), "2 ./a.sif");
    assert_string_equal(image("/images/ubuntu"), "3 /images/ubuntu");
    const char *const none[] = {
        "",   ":",         "#",     "a#",       "#a",   "@a",    "a b",   "a@./b", "a;b",
        "-a", "a:",        "a:b:c", "oras://a", "/a b", "/a'b",  "/a\nb", "a@b@c", "a@sha256:1",
        "a/", "docker://", "/a\"",  "a#b#c",    "/a$b", "/a`b`", "a\x1b"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_string_equal(image(none[i]), "refused");
}

static void mounts(void **state)
{
    (void)state;
    assert_true(asked((struct container_ask){
        .image = "a", .mounts = "/a,/b:/c,./d:/e:ro,../f:/g:rw+private+x-create=dir"}));
    assert_int_equal(wish.mounts, 4);
    assert_string_equal(wish.mount[0].from, "/a");
    assert_string_equal(wish.mount[0].to, "/a");
    assert_string_equal(wish.mount[1].to, "/c");
    assert_true(wish.mount[2].read_only && !wish.mount[3].read_only && !wish.mount[1].read_only);
    assert_string_equal(wish.mount[3].flags, "private+x-create=dir");
    const char *const none[] = {"a",   "/a:b", "/a:/b:none", "/a b",      "/a:/b:ro:rw", ",",
                                "/a,", ":/a",  "tmpfs:/a",   "/a:/b:ro+", "/a:/b c",     "/a\n:/b"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_false(asked((struct container_ask){.image = "a", .mounts = none[i]}));
    struct str many = STR_INIT;
    for (unsigned i = 0; i < CONTAINER_MOUNTS_MAX; i++)
        str_addf(&many, "%s/a%u", i ? "," : "", i);
    assert_true(asked((struct container_ask){.image = "a", .mounts = str_text(&many)}));
    str_add(&many, ",/b");
    assert_false(asked((struct container_ask){.image = "a", .mounts = str_text(&many)}));
    assert_int_equal(err.code, ERR_LIMIT);
    str_done(&many);
}

static void names(void **state)
{
    (void)state;
    assert_true(asked((struct container_ask){.name = "box"}));
    assert_int_equal(wish.use, CONTAINER_AUTO);
    assert_true(asked((struct container_ask){.name = "box:exec"}));
    assert_int_equal(wish.use, CONTAINER_EXEC);
    assert_true(asked((struct container_ask){.name = "b.o-x_1:create", .image = "a"}));
    assert_int_equal(wish.use, CONTAINER_CREATE);
    assert_string_equal(wish.name, "b.o-x_1");
    assert_false(asked((struct container_ask){.name = "box:create"}));
    const char *const none[] = {"",     ":create",   ".box", "a/b", "a b",
                                "box:", "box:other", "..",   "-x"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_false(asked((struct container_ask){.name = none[i], .image = "a"}));
}

static void the_rest(void **state)
{
    (void)state;
    assert_false(container_ask_any(&(struct container_ask){0}));
    assert_true(container_ask_any(&(struct container_ask){.entrypoint = NO}));
    assert_false(asked((struct container_ask){.workdir = "/a"}));
    assert_true(asked((struct container_ask){.image = "a", .workdir = "/a", .env = "A,_b1"}));
    assert_int_equal(wish.variables, 2);
    assert_false(asked((struct container_ask){.image = "a", .env = "1A"}));
    assert_false(asked((struct container_ask){.image = "a", .env = "A,,B"}));
    assert_false(asked((struct container_ask){.image = "a", .env = "A*"}));
    assert_false(asked((struct container_ask){.image = "a", .workdir = "a"}));
    assert_false(asked((struct container_ask){.image = "a", .workdir = "/a'b"}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(images, setup, teardown),
        cmocka_unit_test_setup_teardown(mounts, setup, teardown),
        cmocka_unit_test_setup_teardown(names, setup, teardown),
        cmocka_unit_test_setup_teardown(the_rest, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

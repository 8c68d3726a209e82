/* test_cores.c: the cores that a process may use, by a made-up tree of control groups. */
#define _GNU_SOURCE /* sched_getaffinity, nftw */
#include "base/cores.h"
#include "support.h"

#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#define NONE INT64_MAX

static char root[64];

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/leat-cores-XXXXXX");
    CHECK(mkdtemp(root));
    return 0;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* Writes the file below the root, and makes its folders. */
static void put(const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = path; (slash = strchr(slash + 1, '/')); *slash = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    CHECK(file);
    CHECK(fputs(text, file) >= 0);
    CHECK_IS(0, fclose(file));
}

static void is_in(const char *groups)
{
    put("proc/self/cgroup", groups);
}

static void has_none_without_files(void **state)
{
    (void)state;
    CHECK_IS(NONE, lt_cores_quota(root));
    is_in("0::/a\n");
    CHECK_IS(NONE, lt_cores_quota(root));
    CHECK_IS(NONE, lt_cores_quota("/dev/null"));
}

static void rounds_up(void **state)
{
    (void)state;
    is_in("0::/a\n");
    static const struct {
        const char *text;
        int64_t cores;
    } all[] = {
        { "1000 100000\n", 1 },     { "100000 100000\n", 1 }, { "100001 100000\n", 2 },
        { "200000 100000\n", 2 },   { "250000 100000\n", 3 }, { "9223372036854775807 1\n", NONE },
        { "6400000 50000\n", 128 },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        put("sys/fs/cgroup/a/cpu.max", all[i].text);
        CHECK_IS(all[i].cores, lt_cores_quota(root));
    }
}

static void takes_the_least_of_all_levels(void **state)
{
    (void)state;
    is_in("0::/a/b/c\n");
    put("sys/fs/cgroup/a/b/c/cpu.max", "900000 100000\n");
    CHECK_IS(9, lt_cores_quota(root));
    put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    CHECK_IS(9, lt_cores_quota(root));
    put("sys/fs/cgroup/a/cpu.max", "250000 50000\n");
    CHECK_IS(5, lt_cores_quota(root));
    put("sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    CHECK_IS(5, lt_cores_quota(root));
    put("sys/fs/cgroup/a/b/cpu.max", "300000 100000\n");
    CHECK_IS(3, lt_cores_quota(root));
    put("sys/fs/cgroup/cpu.max", "110000 100000\n");
    CHECK_IS(2, lt_cores_quota(root));
    /* Neither a group beside it nor one inside it counts. */
    put("sys/fs/cgroup/a/b2/cpu.max", "1 100000\n");
    put("sys/fs/cgroup/a/b/c/d/cpu.max", "1 100000\n");
    CHECK_IS(2, lt_cores_quota(root));
    is_in("0::/\n");
    CHECK_IS(2, lt_cores_quota(root));
}

/* As in a container that sees its own group's files at the mount, and the host's name of it. */
static void finds_the_mount_of_an_unknown_group(void **state)
{
    (void)state;
    put("sys/fs/cgroup/cpu.max", "400000 100000\n");
    is_in("0::/machine/of/the/host\n");
    CHECK_IS(4, lt_cores_quota(root));
    is_in("0::/../other\n");
    CHECK_IS(4, lt_cores_quota(root));
}

static void reads_version_1(void **state)
{
    (void)state;
    is_in("12:cpuset:/set\n11:name=systemd:/cpu\n4:cpuacct,cpu:/box/in:side\n3:memory:/m\n0::/u\n");
    CHECK_IS(NONE, lt_cores_quota(root));
    put("sys/fs/cgroup/cpu/box/in:side/cpu.cfs_quota_us", "700000\n");
    CHECK_IS(NONE, lt_cores_quota(root)); /* no period */
    put("sys/fs/cgroup/cpu/box/in:side/cpu.cfs_period_us", "100000\n");
    CHECK_IS(7, lt_cores_quota(root));
    put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "120000\n");
    put("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "50000\n");
    CHECK_IS(3, lt_cores_quota(root));
    put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
    CHECK_IS(7, lt_cores_quota(root));
    /* Other controllers have no quotas of cores. */
    put("sys/fs/cgroup/cpu/set/cpu.cfs_quota_us", "100000\n");
    put("sys/fs/cgroup/cpu/set/cpu.cfs_period_us", "100000\n");
    CHECK_IS(7, lt_cores_quota(root));
    is_in("12:cpuset:/set\n1:cpux,xcpu,:/set\n");
    CHECK_IS(NONE, lt_cores_quota(root));
}

static void ignores_what_it_does_not_understand(void **state)
{
    (void)state;
    static const char *const quotas[] = {
        "",
        "\n",
        "max 100000\n",
        "max\n",
        "-1 100000\n",
        "0 100\n",
        "100000\n",
        "100000 0\n",
        "100000 -5\n",
        "x 100000\n",
        "100 100x\n",
        "100000 max\n",
        "100000 100000",
        "100 100 100\n",
        "1e5 100000\n",
        "100000 100000                                                        \n",
    };
    is_in("0::/a/b\n");
    for (size_t i = 0; i < sizeof quotas / sizeof *quotas; i++) {
        put("sys/fs/cgroup/a/b/cpu.max", quotas[i]);
        put("sys/fs/cgroup/a/cpu.max", "max 100000\n");
        if (lt_cores_quota(root) != NONE)
            check_failed(__FILE__, __LINE__, "'%s' was understood", quotas[i]);
        put("sys/fs/cgroup/a/cpu.max", "600000 100000\n");
        CHECK_IS(6, lt_cores_quota(root));
    }
    static const char *const groups[] = { "", "\n", "0\n", "0:\n", "0::\n", ":::\n", "x", "1:cpu" };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        is_in(groups[i]);
        if (lt_cores_quota(root) != NONE)
            check_failed(__FILE__, __LINE__, "'%s' was understood", groups[i]);
    }
}

static void ignores_a_path_that_is_too_long(void **state)
{
    (void)state;
    static char groups[3 * PATH_MAX];
    snprintf(groups, sizeof groups, "0::/%0*d\n1:cpu:/box\n", 2 * PATH_MAX, 0);
    is_in(groups);
    put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "700000\n");
    put("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
    CHECK_IS(7, lt_cores_quota(root));
    CHECK_IS(NONE, lt_cores_quota(groups + 3));
}

static void is_two_or_more_unless_there_is_one(void **state)
{
    (void)state;
    CHECK_IS(8, lt_cores_within(8, NONE));
    CHECK_IS(8, lt_cores_within(8, 8));
    CHECK_IS(7, lt_cores_within(8, 7));
    CHECK_IS(2, lt_cores_within(8, 2));
    CHECK_IS(2, lt_cores_within(8, 1));
    CHECK_IS(2, lt_cores_within(2, 1));
    CHECK_IS(1, lt_cores_within(1, 1));
    CHECK_IS(1, lt_cores_within(1, NONE));
}

static void tells_of_this_process(void **state)
{
    (void)state;
    cpu_set_t set;
    CHECK_IS(0, sched_getaffinity(0, sizeof set, &set));
    errno = EDOM;
    unsigned cores = leat_cores();
    CHECK_IS(EDOM, errno);
    CHECK_IS(lt_cores_within((unsigned)CPU_COUNT(&set), lt_cores_quota("")), cores);
}

#define IN_A_TREE(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_TREE(has_none_without_files),
        IN_A_TREE(rounds_up),
        IN_A_TREE(takes_the_least_of_all_levels),
        IN_A_TREE(finds_the_mount_of_an_unknown_group),
        IN_A_TREE(reads_version_1),
        IN_A_TREE(ignores_what_it_does_not_understand),
        IN_A_TREE(ignores_a_path_that_is_too_long),
        cmocka_unit_test(is_two_or_more_unless_there_is_one),
        cmocka_unit_test(tells_of_this_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

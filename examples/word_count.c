/* word_count: how often each word occurs in some files. Words are found in several files at a time
 * (map), and counted by one party, which needs no lock (reduce).
 *
 *     names ──▶ read, n threads ──▶ split into words, n tasks ──▶ count
 *
 * Reading may block, so it runs on threads. Each file's text is an item, and so is each word.
 * `drop` frees the texts that no stage receives. */
#include <leat/leat.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 23, MOST_WORDS = 1000, MOST_IN_FILE = 4096 };

struct word {
    char text[LONGEST + 1];
};

struct counts {
    size_t n;
    struct {
        struct word word;
        int count;
    } entries[MOST_WORDS];
};

static void drop_text(void *item)
{
    free(*(char **)item);
}

static int read_file(void *arg, const void *in, void *out)
{
    (void)arg;
    FILE *file = fopen(*(const char *const *)in, "r");
    char *text = file ? calloc(1, MOST_IN_FILE + 1) : NULL;
    if (file && text && fread(text, 1, MOST_IN_FILE, file) == 0)
        text[0] = '\0';
    if (file)
        fclose(file);
    *(char **)out = text;
    return text ? 0 : -EIO;
}

/* Splits a text, which belongs to this function, and frees it. */
static int split_text(void *arg, const void *in, leat_emit *emit)
{
    (void)arg;
    char *text = *(char *const *)in;
    int error = 0;
    for (char *p = text; *p && !error;) {
        struct word word = { "" };
        size_t n = 0;
        for (; isalpha((unsigned char)*p); p++)
            if (n < LONGEST)
                word.text[n++] = (char)tolower((unsigned char)*p);
        if (n)
            error = leat_emit_item(emit, &word);
        else
            p++;
    }
    free(text);
    return error;
}

static int count_word(void *state, const void *item)
{
    struct counts *counts = state;
    const struct word *word = item;
    size_t i = 0;
    while (i < counts->n && strcmp(counts->entries[i].word.text, word->text) != 0)
        i++;
    if (i == MOST_WORDS)
        return -ENOSPC;
    if (i == counts->n) {
        counts->entries[i].word = *word;
        counts->n++;
    }
    counts->entries[i].count++;
    return 0;
}

static int by_word(const void *a, const void *b)
{
    return strcmp(((const struct word *)a)->text, ((const struct word *)b)->text);
}

struct names {
    const char **names;
    size_t n;
};

static int word_count(void *arg)
{
    static struct counts counts;
    const struct names *names = arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *files = leat_to_chan(s, names->names, sizeof(char *), names->n, NULL);
    leat_chan *texts = leat_pipeline(s, files,
                                     &(leat_pipeline_spec){ .n = 4,
                                                            .run = read_file,
                                                            .blocking = 1,
                                                            .unordered = 1,
                                                            .out_size = sizeof(char *),
                                                            .drop = drop_text });
    leat_chan *words = leat_pipeline(s, texts,
                                     &(leat_pipeline_spec){ .n = 2,
                                                            .run_many = split_text,
                                                            .room = MOST_IN_FILE / 2,
                                                            .unordered = 1,
                                                            .out_size = sizeof(struct word) });
    int error = leat_reduce(words, count_word, &counts);
    if (error)
        leat_scope_cancel(s);
    int result = leat_scope_close(s);
    qsort(counts.entries, counts.n, sizeof counts.entries[0], by_word);
    for (size_t i = 0; i < counts.n; i++)
        printf("%4d %s\n", counts.entries[i].count, counts.entries[i].word.text);
    return result ? result : error;
}

int main(int argc, char **argv)
{
    struct names names = { (const char **)(argv + 1), (size_t)(argc - 1) };
    return leat_main(word_count, &names) < 0;
}

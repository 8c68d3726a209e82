/* powser: power series over channels, after M. D. McIlroy, "Squinting at power series" (1990). A
 * series is a stream of coefficients, exact fractions, each sent when it is requested. An
 * operation on series is a task. A series may be defined by itself: the sine integrates the
 * cosine, which integrates the sine. No series has an end: when enough has been printed, the
 * scope is cancelled, and all tasks end. */
#include <leat/leat.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- fractions ---- */

typedef struct rat {
    int64_t num, den; /* in lowest terms, den > 0 */
} rat;

static int64_t gcd(int64_t a, int64_t b)
{
    return b ? gcd(b, a % b) : a < 0 ? -a : a;
}

static rat ratio(int64_t num, int64_t den)
{
    int64_t d = den < 0 ? -gcd(num, den) : gcd(num, den);
    return (rat){ num / d, den / d };
}

static rat sum(rat a, rat b)
{
    int64_t d = gcd(a.den, b.den);
    return ratio(a.num * (b.den / d) + b.num * (a.den / d), a.den * (b.den / d));
}

static rat product(rat a, rat b)
{
    rat x = ratio(a.num, b.den), y = ratio(b.num, a.den);
    return (rat){ x.num * y.num, x.den * y.den };
}

static const rat zero = { 0, 1 }, one = { 1, 1 }, minus_one = { -1, 1 };

/* ---- series ---- */

/* A coefficient is requested on a channel of items without bytes. If it were computed before a
 * request, a series that is defined by itself would wait for itself. */
typedef struct series {
    leat_chan *wanted, *coefficients;
} series;

/* The functions that wait return 0 or an error, nearly always -ECANCELED. */
static int get(series s, rat *c)
{
    int error = leat_send(s.wanted, NULL);
    return error ? error : leat_recv(s.coefficients, c);
}

static int asked(series s)
{
    return leat_recv(s.wanted, NULL);
}

static int answer(series s, rat c)
{
    return leat_send(s.coefficients, &c);
}

static int put(series s, rat c)
{
    int error = asked(s);
    return error ? error : answer(s, c);
}

static void copy(series from, series to)
{
    rat c;
    while (!asked(to) && !get(from, &c) && !answer(to, c)) {
    }
}

/* ---- operations: what a task gets, and how it is started ---- */

typedef struct operation operation;
struct operation {
    void (*run)(operation *op); /* returns only when the scope has been cancelled */
    series u, v, out, twin;
    rat c;
    int n;
};

static leat_scope *scope; /* of all the tasks and channels */

static series new_series(void)
{
    return (series){ leat_chan_make(scope, 0, 0), leat_chan_of(scope, rat, 0) };
}

static int operate(void *arg)
{
    operation *op = arg;
    op->run(op);
    free(op);
    return -ECANCELED;
}

static series start(operation given)
{
    operation *op = malloc(sizeof *op);
    if (!given.out.wanted)
        given.out = new_series();
    if (op)
        *op = given;
    if (!op || leat_go(scope, operate, op) < 0) {
        free(op);
        leat_scope_cancel(scope);
    }
    return given.out;
}

/* Makes two series from one, for two readers; one of them may be far ahead. While it waits for a
 * coefficient, the other reader may request one on which that coefficient depends. So it waits
 * for all possible events at once. */
static void run_split(operation *op)
{
    const series out[] = { op->out, op->twin };
    rat *seen = NULL;
    size_t count = 0, room = 0, at[2] = { 0, 0 };
    bool wanted[2] = { false, false }, waiting = false;
    for (;;) {
        if (count == room) {
            room = room ? 2 * room : 16;
            rat *more = realloc(seen, room * sizeof *more);
            if (!more)
                break;
            seen = more;
        }
        bool lacks = (wanted[0] && at[0] == count) || (wanted[1] && at[1] == count);
        leat_case cases[] = {
            LEAT_RECV(wanted[0] ? NULL : out[0].wanted, NULL),
            LEAT_RECV(wanted[1] ? NULL : out[1].wanted, NULL),
            LEAT_SEND(lacks && !waiting ? op->u.wanted : NULL, NULL),
            LEAT_RECV(waiting ? op->u.coefficients : NULL, &seen[count]),
        };
        int happened = leat_select(cases, 4, LEAT_NEVER);
        if (happened < 0)
            break;
        if (happened < 2)
            wanted[happened] = true;
        else
            waiting = happened == 2;
        count += happened == 3;
        for (int i = 0; i < 2; i++)
            if (wanted[i] && at[i] < count && !answer(out[i], seen[at[i]++]))
                wanted[i] = false;
    }
    free(seen);
}

static void split(series u, series *first, series *second)
{
    *first = first->wanted ? *first : new_series();
    *second = second->wanted ? *second : new_series();
    start((operation){ .run = run_split, .u = u, .out = *first, .twin = *second });
}

/* c + cx + cx² + … */
static void run_repeat(operation *op)
{
    while (!put(op->out, op->c)) {
    }
}

static series repeat(rat c)
{
    return start((operation){ .run = run_repeat, .c = c });
}

/* c + xU */
static void run_shift(operation *op)
{
    if (!put(op->out, op->c))
        copy(op->u, op->out);
}

static series shift(rat c, series u)
{
    return start((operation){ .run = run_shift, .c = c, .u = u });
}

/* U without its first coefficient */
static void run_tail(operation *op)
{
    rat c;
    if (!asked(op->out) && !get(op->u, &c) && !get(op->u, &c) && !answer(op->out, c))
        copy(op->u, op->out);
}

static series tail(series u)
{
    return start((operation){ .run = run_tail, .u = u });
}

static void run_add(operation *op)
{
    rat a, b;
    while (!asked(op->out) && !get(op->u, &a) && !get(op->v, &b) && !answer(op->out, sum(a, b))) {
    }
}

static series add(series u, series v)
{
    return start((operation){ .run = run_add, .u = u, .v = v });
}

static void run_scale(operation *op)
{
    rat a;
    while (!asked(op->out) && !get(op->u, &a) && !answer(op->out, product(a, op->c))) {
    }
}

static series scale(rat c, series u)
{
    return start((operation){ .run = run_scale, .u = u, .c = c });
}

/* The derivative: drops the first coefficient, then the second times 1, the third times 2, … */
static void run_derive(operation *op)
{
    rat a;
    if (asked(op->out) || get(op->u, &a) || get(op->u, &a) || answer(op->out, a))
        return;
    for (int n = 2; !asked(op->out) && !get(op->u, &a); n++)
        if (answer(op->out, product(a, (rat){ n, 1 })))
            return;
}

static series derive(series u)
{
    return start((operation){ .run = run_derive, .u = u });
}

/* c and the integral of U. It answers with the constant before it requests anything of U. */
static void run_integrate(operation *op)
{
    rat a;
    int error = put(op->out, op->c);
    for (int n = 1; !error && !asked(op->out) && !get(op->u, &a); n++)
        error = answer(op->out, product(a, (rat){ 1, n }));
}

static series integrate(rat c, series u)
{
    return start((operation){ .run = run_integrate, .c = c, .u = u });
}

static series multiply(series u, series v);

/* (u + xU')(v + xV') = uv + x(uV' + vU') + x²U'V' */
static void run_multiply(operation *op)
{
    rat u, v, c;
    if (asked(op->out) || get(op->u, &u) || get(op->v, &v) || answer(op->out, product(u, v)))
        return;
    series u1 = { NULL, NULL }, u2 = u1, v1 = u1, v2 = u1;
    split(op->u, &u1, &u2);
    split(op->v, &v1, &v2);
    series cross = add(scale(u, v1), scale(v, u1));
    if (!asked(op->out) && !get(cross, &c) && !answer(op->out, c))
        copy(add(cross, multiply(u2, v2)), op->out);
}

static series multiply(series u, series v)
{
    return start((operation){ .run = run_multiply, .u = u, .v = v });
}

/* 1/(u + xU') = z + xZ with z = 1/u and Z = -zU'(z + xZ) */
static void run_reciprocal(operation *op)
{
    rat u;
    if (asked(op->out) || get(op->u, &u) || u.num == 0)
        return;
    rat z = ratio(u.den, u.num);
    if (answer(op->out, z))
        return;
    series again = new_series(), result = new_series();
    split(multiply(scale(product(z, minus_one), op->u), shift(z, again)), &again, &result);
    copy(result, op->out);
}

static series reciprocal(series u)
{
    return start((operation){ .run = run_reciprocal, .u = u });
}

/* U(V), where V has no constant: U(V) = u + xV'·U'(V) */
static series substitute(series u, series v);

static void run_substitute(operation *op)
{
    rat c;
    if (asked(op->out) || get(op->u, &c) || answer(op->out, c))
        return;
    series v1 = { NULL, NULL }, v2 = v1;
    split(op->v, &v1, &v2);
    copy(multiply(tail(v1), substitute(op->u, v2)), op->out);
}

static series substitute(series u, series v)
{
    return start((operation){ .run = run_substitute, .u = u, .v = v });
}

/* U(cxⁿ): each coefficient times a power of c, followed by n - 1 zeros */
static void run_spread(operation *op)
{
    rat a, power = one;
    int error = 0;
    while (!error && !asked(op->out) && !get(op->u, &a)) {
        error = answer(op->out, product(a, power));
        for (int i = 1; i < op->n && !error; i++)
            error = put(op->out, zero);
        power = product(power, op->c);
    }
}

static series spread(series u, rat c, int n)
{
    return start((operation){ .run = run_spread, .u = u, .c = c, .n = n });
}

/* exp(U), where U has no constant: Z = 1 + ∫ZU' */
static series exponential(series u)
{
    series again = new_series(), result = new_series();
    split(integrate(one, multiply(again, derive(u))), &again, &result);
    return result;
}

/* The R with U(R) = x, where U = x + …: R = x / U'(R) for U = xU' */
static series reverse(series u)
{
    series again = new_series(), result = new_series();
    split(shift(zero, reciprocal(substitute(tail(u), again))), &again, &result);
    return result;
}

static void sine_and_cosine(series *sine, series *cosine)
{
    series sine_again = new_series(), cosine_again = new_series();
    *sine = new_series();
    *cosine = new_series();
    split(integrate(zero, cosine_again), &sine_again, sine);
    split(integrate(one, scale(minus_one, sine_again)), &cosine_again, cosine);
}

/* The integral of 1/(1+x²) */
static series arctangent(void)
{
    return integrate(zero, spread(repeat(one), minus_one, 2));
}

/* ---- what it shows ---- */

enum { TERMS = 9 };

static int print(const char *name, series s)
{
    printf("%-20s", name);
    for (int i = 0; i < TERMS; i++) {
        rat c;
        int error = get(s, &c);
        if (error)
            return error;
        printf(c.den == 1 ? " %" PRId64 : " %" PRId64 "/%" PRId64, c.num, c.den);
    }
    printf("\n");
    return 0;
}

static int show(void)
{
    series sine, cosine, tangent[2] = { 0 };
    sine_and_cosine(&sine, &cosine);
    split(reverse(arctangent()), &tangent[0], &tangent[1]);
    series x = shift(zero, shift(one, repeat(zero)));
    const struct {
        const char *name;
        series s;
    } shown[] = {
        { "1/(1-x)", repeat(one) },
        { "  + 2/(1-x)", add(repeat(one), repeat((rat){ 2, 1 })) },
        { "  derived", derive(repeat(one)) },
        { "  integrated", integrate(zero, repeat(one)) },
        { "  squared", multiply(repeat(one), repeat(one)) },
        { "  its reciprocal", reciprocal(repeat(one)) },
        { "exp(x)", exponential(x) },
        { "exp(x/(1-x))", exponential(shift(zero, repeat(one))) },
        { "1/(1-(x+x^2))",
          substitute(repeat(one), shift(zero, shift(one, shift(one, repeat(zero))))) },
        { "sin(x)", sine },
        { "1/cos(x)", reciprocal(cosine) },
        { "arctan(x)", arctangent() },
        { "tan(x)", tangent[0] },
        { "arctan(tan(x))", substitute(arctangent(), tangent[1]) },
    };
    int error = 0;
    for (size_t i = 0; i < sizeof shown / sizeof *shown && !error; i++)
        error = print(shown[i].name, shown[i].s);
    return error;
}

static int power_series(void *arg)
{
    (void)arg;
    scope = leat_scope_open(LEAT_NEVER);
    int error = show();
    leat_scope_cancel(scope); /* every task waits for a request, and none will come */
    int result = leat_scope_close(scope);
    return error ? error : result;
}

int main(void)
{
    return leat_main(power_series, NULL) < 0;
}

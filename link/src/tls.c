#include "tls.h"

#include "libssl.h"

#include <leat/leat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 16 }; /* bytes written in one step: OpenSSL keeps no more */

struct lk_session {
    const leat_link *link;
    leat_io *io;
    SSL *ssl;
    BIO *in, *out; /* of `ssl`: what has come, and what goes to the engine */
    bool heard;    /* bytes have come through TLS */
    bool broken;
    char bytes[1 << 14];
};

/* ---- the link's files ---- */

static const char *reason_of(unsigned long code)
{
    const char *text = ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code))
                                              : lk_ssl.ERR_reason_error_string(code);
    return text ? text : "no reason is known";
}

/* Without this, OpenSSL asks on the terminal. */
static int no_passphrase(char *to, int size, int writes, void *arg)
{
    (void)to;
    (void)size;
    (void)writes;
    (void)arg;
    return -1;
}

static int wrong_file(const leat_link *link, const char *what, const char *path)
{
    lk_report(link, "%s %s: %s", what, path ? path : "of the system",
              reason_of(lk_ssl.ERR_peek_error()));
    lk_ssl.ERR_clear_error();
    return -EINVAL;
}

static int read_files(const leat_link *link, const char *ca, const char *cert, const char *key)
{
    SSL_CTX *tls = link->tls;
    lk_ssl.ERR_clear_error();
    if ((ca ? lk_ssl.SSL_CTX_load_verify_locations(tls, ca, NULL)
            : lk_ssl.SSL_CTX_set_default_verify_paths(tls)) != 1)
        return wrong_file(link, "the CA file", ca);
    if (cert && lk_ssl.SSL_CTX_use_certificate_chain_file(tls, cert) != 1)
        return wrong_file(link, "the certificate", cert);
    if (cert && lk_ssl.SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1)
        return wrong_file(link, "the key", key);
    return 0;
}

int lk_tls_make(leat_link *link, const char *ca, const char *cert, const char *key)
{
    if (!lk_libssl_load()) {
        lk_report(link, "an address with rediss:// needs OpenSSL's " LK_SSL_LIBRARY
                        ", which this system does not have");
        return -ENOTSUP;
    }
    SSL_CTX *tls = link->tls = lk_ssl.SSL_CTX_new(lk_ssl.TLS_client_method());
    if (!tls)
        return -ENOMEM;
    lk_ssl.SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
    lk_ssl.SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION);
    lk_ssl.SSL_CTX_set_default_passwd_cb(tls, no_passphrase);
    /* The system's settings may require a later version. */
    if (lk_ssl.SSL_CTX_ctrl(tls, SSL_CTRL_GET_MIN_PROTO_VERSION, 0, NULL) < TLS1_2_VERSION &&
        lk_ssl.SSL_CTX_ctrl(tls, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL) != 1)
        return -ENOMEM;
    return read_files(link, ca, cert, key);
}

void lk_tls_free(struct ssl_ctx_st *tls)
{
    if (tls)
        lk_ssl.SSL_CTX_free(tls);
}

/* ---- failures ---- */

/* Whether the engine refuses this side's certificate. */
static bool is_about_certificate(int reason)
{
    switch (reason - SSL_AD_REASON_OFFSET) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_CERTIFICATE_REQUIRED: return true;
    default: return false;
    }
}

/* Reports why the last call failed. This thread has made it. */
static int failure(struct lk_session *s)
{
    unsigned long code = lk_ssl.ERR_peek_error();
    int reason = ERR_GET_REASON(code);
    long verdict = lk_ssl.SSL_get_verify_result(s->ssl);
    bool refused = is_about_certificate(reason);
    s->broken = true;
    lk_ssl.ERR_clear_error(); /* the program may use OpenSSL in this thread, too */
    if (s->heard)
        return -ECONNRESET;
    if (reason == ERR_R_MALLOC_FAILURE)
        return -ENOMEM;
    const char *text =
        verdict == X509_V_OK ? reason_of(code) : lk_ssl.X509_verify_cert_error_string(verdict);
    lk_report(s->link, "the engine at %s %s: %s", s->link->url.address,
              verdict != X509_V_OK            ? "has a certificate that is not trusted"
              : refused                       ? "does not trust this side's certificate"
              : reason > SSL_AD_REASON_OFFSET ? "refuses to speak TLS"
                                              : "does not speak TLS as it should",
              text);
    return verdict != X509_V_OK || refused ? -EACCES : -EPROTO;
}

/* ---- steps ---- */

static int send_out(struct lk_session *s, int64_t deadline)
{
    char *bytes;
    int64_t n = 0, left = lk_ssl.BIO_ctrl(s->out, BIO_CTRL_INFO, 0, &bytes);
    for (; left > 0; bytes += n, left -= n)
        if ((n = leat_write_until(s->io, bytes, (size_t)left, deadline)) < 0)
            break;
    lk_ssl.BIO_ctrl(s->out, BIO_CTRL_RESET, 0, NULL);
    return n < 0 ? (int)n : 0;
}

/* A read that need not wait ignores its deadline, and bytes without content may come for ever. */
static int take_in(struct lk_session *s, int64_t deadline)
{
    if (deadline != LEAT_NOW && leat_now() >= deadline)
        return -ETIMEDOUT;
    int64_t n = leat_read_until(s->io, s->bytes, sizeof s->bytes, deadline);
    if (n <= 0)
        return n < 0 ? (int)n : -ECONNRESET;
    return lk_ssl.BIO_write(s->in, s->bytes, (int)n) == n ? 0 : -ENOMEM;
}

enum step { HANDSHAKE, READ, WRITE };

static int call(struct lk_session *s, enum step step, void *bytes, size_t n)
{
    int done = step == READ    ? lk_ssl.SSL_read(s->ssl, bytes, (int)n)
               : step == WRITE ? lk_ssl.SSL_write(s->ssl, bytes, (int)n)
                               : lk_ssl.SSL_connect(s->ssl);
    switch (lk_ssl.SSL_get_error(s->ssl, done)) {
    case SSL_ERROR_NONE: return done;
    case SSL_ERROR_ZERO_RETURN: return 0;
    case SSL_ERROR_WANT_READ: return -EAGAIN;
    default: return failure(s);
    }
}

/* Takes a step, with all reads and writes that it needs. After a failure, too, it sends OpenSSL's
 * bytes: they say why. */
static int take_step(struct lk_session *s, enum step step, void *bytes, size_t n, int64_t deadline)
{
    for (;;) {
        lk_ssl.ERR_clear_error();
        int done = call(s, step, bytes, n), error = send_out(s, deadline);
        if (done != -EAGAIN)
            return done >= 0 && error ? error : done;
        error = error ? error : take_in(s, deadline);
        if (error)
            return error;
    }
}

int64_t lk_session_read(struct lk_session *s, void *to, size_t n, int64_t deadline)
{
    int done = take_step(s, READ, to, n, deadline);
    s->heard = s->heard || done > 0;
    return done;
}

/* An engine that refuses this side's certificate says so, and closes: that error counts. */
static int last_word(struct lk_session *s, int error)
{
    char byte;
    int said = take_step(s, READ, &byte, 1, LEAT_NOW);
    return said == -EACCES || said == -EPROTO ? said : error;
}

int64_t lk_session_write(struct lk_session *s, const void *from, size_t n, int64_t deadline)
{
    void *bytes = (void *)(uintptr_t)from; /* SSL_write only reads it */
    int done = take_step(s, WRITE, bytes, n < PIECE ? n : PIECE, deadline);
    if (done == 0)
        return -ECONNRESET;
    return (done == -EPIPE || done == -ECONNRESET) && !s->broken ? last_word(s, done) : done;
}

/* ---- beginning and ending ---- */

/* The certificate must be for `host`. The engine, which may have several names, receives a name,
 * but no IP address. */
static bool expect(SSL *ssl, const char *host)
{
    X509_VERIFY_PARAM *param = lk_ssl.SSL_get0_param(ssl);
    lk_ssl.X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (!*host) /* OpenSSL would not check it */
        return false;
    if (lk_ssl.X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1)
        return true;
    char *name = (char *)(uintptr_t)host; /* OpenSSL copies it */
    return lk_ssl.X509_VERIFY_PARAM_set1_host(param, host, 0) == 1 &&
           lk_ssl.SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name) == 1;
}

static bool prepare(struct lk_session *s)
{
    s->ssl = lk_ssl.SSL_new(s->link->tls);
    s->in = lk_ssl.BIO_new(lk_ssl.BIO_s_mem());
    s->out = lk_ssl.BIO_new(lk_ssl.BIO_s_mem());
    if (!s->ssl || !s->in || !s->out) {
        lk_ssl.BIO_free(s->in);
        lk_ssl.BIO_free(s->out);
        return false;
    }
    lk_ssl.SSL_set_bio(s->ssl, s->in, s->out); /* s->ssl owns them now */
    return expect(s->ssl, s->link->url.host);
}

int lk_session_open(struct lk_session **to, const leat_link *link, leat_io *io, int64_t deadline)
{
    struct lk_session *s = malloc(sizeof *s);
    if (!s)
        return -ENOMEM;
    *s = (struct lk_session){ .link = link, .io = io };
    bool prepared = prepare(s);
    int done = prepared ? take_step(s, HANDSHAKE, NULL, 0, deadline) : -ENOMEM;
    if (done > 0) {
        *to = s;
        return 0;
    }
    s->broken = true; /* so no close_notify is sent */
    lk_session_close(s);
    return done ? done : -ECONNRESET;
}

void lk_session_close(struct lk_session *s)
{
    if (!s)
        return;
    if (!s->broken && lk_ssl.SSL_shutdown(s->ssl) >= 0)
        send_out(s, LEAT_NOW);
    lk_ssl.SSL_free(s->ssl);
    lk_ssl.ERR_clear_error();
    free(s);
}

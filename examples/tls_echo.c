/* tls_echo: an echo server over TLS, and its clients, as tasks of one program. leat has no TLS.
 * OpenSSL reads and writes memory here, and a pump moves the bytes between that memory and the
 * connection. So every wait is leat's, and has its deadline.
 *
 *     SSL_read, SSL_write ──▶ out ──▶ leat_write ──▶ the other side
 *                         ◀── in  ◀── leat_read  ◀──
 *
 * The program makes the server's certificate when it begins. The first client does not trust it. */
#include <leat/leat.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 120 };

/* ---- a connection with TLS ---- */

enum step { HANDSHAKE, READ, WRITE, GOODBYE };

struct tls {
    leat_io *io;
    SSL *ssl;
    BIO *in, *out;      /* what has come from the other side, and what goes there */
    const char *reason; /* why a call returned -EPROTO */
};

static int send_out(struct tls *tls, int64_t deadline)
{
    char *bytes;
    int64_t left = BIO_get_mem_data(tls->out, &bytes);
    for (int64_t n; left > 0; bytes += n, left -= n)
        if ((n = leat_write_until(tls->io, bytes, (size_t)left, deadline)) < 0)
            return (int)n;
    BIO_reset(tls->out);
    return 0;
}

/* A stream that ends here was cut off: TLS says goodbye before. */
static int take_in(struct tls *tls, int64_t deadline)
{
    char bytes[4096];
    int64_t n = leat_read_until(tls->io, bytes, sizeof bytes, deadline);
    if (n <= 0)
        return n < 0 ? (int)n : -ECONNRESET;
    return BIO_write(tls->in, bytes, (int)n) == n ? 0 : -ENOMEM;
}

/* Takes a step, with as many reads and writes as it needs. Returns a positive number when it is
 * taken, for READ and WRITE that of the bytes; 0 at the end of the stream; or an error. A task may
 * go on in another thread after a wait, and OpenSSL keeps errors for each thread: so look at them
 * before any byte moves. */
static int tls_do(struct tls *tls, enum step step, void *bytes, size_t n, int64_t deadline)
{
    for (;;) {
        int done = 0;
        ERR_clear_error();
        switch (step) {
        case HANDSHAKE:
            done = SSL_is_server(tls->ssl) ? SSL_accept(tls->ssl) : SSL_connect(tls->ssl);
            break;
        case READ: done = SSL_read(tls->ssl, bytes, (int)n); break;
        case WRITE: done = SSL_write(tls->ssl, bytes, (int)n); break;
        case GOODBYE: /* the first call says goodbye, the second waits for the other side's */
            done = SSL_shutdown(tls->ssl);
            done = done == 0 ? SSL_shutdown(tls->ssl) : done;
        }
        int why = SSL_get_error(tls->ssl, done);
        if (why == SSL_ERROR_ZERO_RETURN) {
            done = 0;
        } else if (why != SSL_ERROR_NONE && why != SSL_ERROR_WANT_READ) {
            tls->reason = ERR_reason_error_string(ERR_peek_error());
            done = -EPROTO;
        }
        int error = send_out(tls, deadline); /* after a failure too: it tells the other side why */
        if (why != SSL_ERROR_WANT_READ)
            return done >= 0 && error ? error : done;
        if (!error)
            error = take_in(tls, deadline);
        if (error)
            return error;
    }
}

/* Begins TLS on tls->io. SSL_free(tls->ssl) undoes that, after an error too. Returns 1 or an
 * error. */
static int tls_open(struct tls *tls, SSL_CTX *context, int64_t deadline)
{
    tls->ssl = SSL_new(context);
    tls->in = BIO_new(BIO_s_mem());
    tls->out = BIO_new(BIO_s_mem());
    if (!tls->ssl || !tls->in || !tls->out) {
        BIO_free(tls->in);
        BIO_free(tls->out);
        return -ENOMEM;
    }
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    return tls_do(tls, HANDSHAKE, NULL, 0, deadline);
}

static const char *text_of(const struct tls *tls, int error)
{
    if (error == -EPROTO && tls->reason)
        return tls->reason;
    return error < 0 ? strerror(-error) : "ended well";
}

/* ---- the certificate ---- */

/* Signed by itself, for an hour. Returns NULL when OpenSSL cannot make it. */
static X509 *make_certificate(EVP_PKEY *key)
{
    X509 *made = X509_new();
    X509_NAME *name = made ? X509_get_subject_name(made) : NULL;
    const unsigned char *host = (const unsigned char *)"localhost";
    if (key && name && X509_set_version(made, X509_VERSION_3) &&
        ASN1_INTEGER_set(X509_get_serialNumber(made), 1) &&
        X509_gmtime_adj(X509_getm_notBefore(made), -60) &&
        X509_gmtime_adj(X509_getm_notAfter(made), 3600) &&
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, host, -1, -1, 0) &&
        X509_set_issuer_name(made, name) && X509_set_pubkey(made, key) &&
        X509_sign(made, key, EVP_sha256()))
        return made;
    X509_free(made);
    return NULL;
}

/* ---- the server ---- */

struct program {
    SSL_CTX *server, *client;
    X509 *certificate;
    leat_io *listener;
    char address[LEAT_ADDRESS_TEXT];
    _Atomic int64_t patience; /* of the server */
    leat_chan *verdicts;      /* of char[TEXT]: how each connection ended for the server */
};

static int echo(leat_io *connection, void *arg)
{
    struct program *program = arg;
    struct tls tls = { .io = connection };
    char bytes[4096], verdict[TEXT];
    int64_t patience = program->patience;
    int n = tls_open(&tls, program->server, leat_after(patience));
    while (n > 0 && (n = tls_do(&tls, READ, bytes, sizeof bytes, leat_after(patience))) > 0)
        n = tls_do(&tls, WRITE, bytes, (size_t)n, leat_after(patience));
    if (n == 0)
        n = tls_do(&tls, GOODBYE, NULL, 0, leat_after(patience));
    snprintf(verdict, sizeof verdict, "%s", text_of(&tls, n));
    SSL_free(tls.ssl);
    return leat_send(program->verdicts, verdict);
}

static int serve(void *arg)
{
    struct program *program = arg;
    return leat_serve(program->listener, echo, program, NULL);
}

/* ---- the clients ---- */

static int talk(struct tls *tls, SSL_CTX *context)
{
    char question[] = "Is this line private?", back[64];
    int64_t deadline = leat_after(60 * LEAT_S); /* of the whole conversation */
    int n = tls_open(tls, context, deadline);
    if (n > 0)
        n = tls_do(tls, WRITE, question, sizeof question - 1, deadline);
    if (n > 0)
        n = tls_do(tls, READ, back, sizeof back, deadline);
    if (n > 0)
        printf("    echo: %.*s\n", n, back);
    return n < 0 ? n : tls_do(tls, GOODBYE, NULL, 0, deadline);
}

/* Without a context it says nothing. */
static int run_client(struct program *program, const char *name, SSL_CTX *context)
{
    struct tls tls = { 0 };
    char byte, verdict[TEXT] = "";
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int error = leat_connect(s, program->address, &tls.io, leat_after(10 * LEAT_S));
    printf("%s\n", name);
    if (!error) {
        int n = context ? talk(&tls, context) : (int)leat_read(tls.io, &byte, 1);
        error = leat_recv(program->verdicts, verdict);
        printf("    client: %s\n    server: %s\n", text_of(&tls, n), verdict);
    }
    SSL_free(tls.ssl);
    leat_scope_close(s);
    return error;
}

static int run(void *arg)
{
    struct program *program = arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    program->verdicts = leat_chan_make(s, TEXT, 1);
    int error = leat_listen(s, "127.0.0.1:0", 0, &program->listener);
    if (!error)
        error = leat_go(s, serve, program);
    if (!error) {
        leat_io_local_text(program->listener, program->address, sizeof program->address);
        program->patience = 60 * LEAT_S;
        error = run_client(program, "a client without trust", program->client);
        X509_STORE_add_cert(SSL_CTX_get_cert_store(program->client), program->certificate);
        if (!error)
            error = run_client(program, "a client with trust", program->client);
        program->patience = 100 * LEAT_MS;
        if (!error)
            error = run_client(program, "a silent client", NULL);
        leat_io_close(program->listener); /* this ends serve */
    }
    int ended = leat_scope_close(s);
    return error ? error : ended;
}

int main(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    struct program program = { .server = SSL_CTX_new(TLS_server_method()),
                               .client = SSL_CTX_new(TLS_client_method()),
                               .certificate = make_certificate(key) };
    int error = -ENOMEM;
    if (program.server && program.client && program.certificate &&
        SSL_CTX_use_certificate(program.server, program.certificate) == 1 &&
        SSL_CTX_use_PrivateKey(program.server, key) == 1 &&
        X509_VERIFY_PARAM_set1_host(SSL_CTX_get0_param(program.client), "localhost", 0) == 1) {
        SSL_CTX_set_verify(program.client, SSL_VERIFY_PEER, NULL);
        error = leat_main_with(run, &program, &(leat_options){ .stack_size = 256 * 1024 });
    }
    SSL_CTX_free(program.client);
    SSL_CTX_free(program.server);
    X509_free(program.certificate);
    EVP_PKEY_free(key);
    if (error)
        fprintf(stderr, "tls_echo: %s\n", strerror(-error));
    return error != 0;
}

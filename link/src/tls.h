/* tls.h: TLS on a connection to the engine, by OpenSSL.
 *
 * OpenSSL reads and writes memory, and a step moves the bytes between that memory and the
 * connection. So each wait is leat's, with its deadline, and no call of OpenSSL's is under way
 * during a wait: a task may go on in another thread, and OpenSSL keeps errors for each thread. A
 * call takes 7 KiB of the task's stack.
 *
 * The engine's certificate is always checked, with its name. At most a record and 16 KiB more are
 * kept unread, whatever the engine sends.
 *
 * link->tls is constant: sessions share it without a lock. One task uses a session. */
#pragma once

#include "link.h"

#include <leat/io.h>

struct lk_session;

/* Makes link->tls from files in the PEM format; `ca` may be NULL, or `cert` and `key`. Reports why
 * it fails. 0; -ENOTSUP without libssl; -EINVAL for a wrong file; -ENOMEM. */
int lk_tls_make(leat_link *link, const char *ca, const char *cert, const char *key);

/* NULL is allowed. */
void lk_tls_free(struct ssl_ctx_st *tls);

/* Begins TLS. The caller owns `io`, and keeps it until the session is closed. Reports why it fails.
 * 0; -EACCES when either side refuses the other's certificate; -EPROTO when the engine does not
 * speak TLS as it should; or an error of leat_read. */
int lk_session_open(struct lk_session **to, const leat_link *link, leat_io *io, int64_t deadline);

/* As leat_read_until and leat_write_until. -ECONNRESET for a stream that ends without TLS's
 * close_notify, or that breaks the rules of TLS after bytes have come. Before these, errors are
 * those of lk_session_open: the engine may check this side's certificate after the handshake. */
int64_t lk_session_read(struct lk_session *session, void *to, size_t n, int64_t deadline);
int64_t lk_session_write(struct lk_session *session, const void *from, size_t n, int64_t deadline);

/* Sends close_notify, if that needs no wait. NULL is allowed. */
void lk_session_close(struct lk_session *session);

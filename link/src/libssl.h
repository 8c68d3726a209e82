/* libssl.h: OpenSSL's libssl, loaded for the first link with TLS: other programs do not pay for its
 * start. The table is constant once it is loaded, so it needs no lock. */
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>

/* The functions of libssl, and of libcrypto below it, that are used here: X(name). */
#define LK_SSL_FUNCTIONS(X) \
    X(BIO_ctrl) \
    X(BIO_free) \
    X(BIO_new) \
    X(BIO_s_mem) \
    X(BIO_write) \
    X(ERR_clear_error) \
    X(ERR_peek_error) \
    X(ERR_reason_error_string) \
    X(OPENSSL_init_ssl) \
    X(SSL_CTX_ctrl) \
    X(SSL_CTX_free) \
    X(SSL_CTX_load_verify_locations) \
    X(SSL_CTX_new) \
    X(SSL_CTX_set_default_passwd_cb) \
    X(SSL_CTX_set_default_verify_paths) \
    X(SSL_CTX_set_options) \
    X(SSL_CTX_set_verify) \
    X(SSL_CTX_use_PrivateKey_file) \
    X(SSL_CTX_use_certificate_chain_file) \
    X(SSL_connect) \
    X(SSL_ctrl) \
    X(SSL_free) \
    X(SSL_get0_param) \
    X(SSL_get_error) \
    X(SSL_get_verify_result) \
    X(SSL_new) \
    X(SSL_read) \
    X(SSL_set_bio) \
    X(SSL_shutdown) \
    X(SSL_write) \
    X(TLS_client_method) \
    X(X509_VERIFY_PARAM_set1_host) \
    X(X509_VERIFY_PARAM_set1_ip_asc) \
    X(X509_VERIFY_PARAM_set_hostflags) \
    X(X509_verify_cert_error_string)

struct lk_libssl {
#define LK_SSL_MEMBER(name) __typeof__(name) *name;
    LK_SSL_FUNCTIONS(LK_SSL_MEMBER)
#undef LK_SSL_MEMBER
};

/* Not to be used before lk_libssl_load has returned true. */
extern struct lk_libssl lk_ssl;

#define LK_SSL_TEXT_OF(number) #number
#define LK_SSL_LIBRARY_OF(version) "libssl.so." LK_SSL_TEXT_OF(version)
#define LK_SSL_LIBRARY LK_SSL_LIBRARY_OF(OPENSSL_SHLIB_VERSION)

/* Loads the library, once; it stays. From any party. False: the system does not have it. */
bool lk_libssl_load(void);

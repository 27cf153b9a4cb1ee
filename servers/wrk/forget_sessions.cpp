// TLS connections that never resume a session.
//
// wrk opens the next connection with the same object of OpenSSL, which resumes the session of the last one. Preloaded
// into wrk, this makes each connection begin without a session: with a full handshake.

#include <dlfcn.h>

struct ssl_st;
struct ssl_session_st;

extern "C" int SSL_set_session(ssl_st*, ssl_session_st*);

extern "C" int SSL_clear(ssl_st* connection) {
  using Clear = int (*)(ssl_st*);
  static const auto clear = reinterpret_cast<Clear>(dlsym(RTLD_NEXT, "SSL_clear"));
  return clear(connection) == 1 ? SSL_set_session(connection, nullptr) : 0;
}

"""link_tls.py [NAME...]: an engine with TLS; see link_tls.sh."""
import os
import signal
import socket
import subprocess

from link_common import (PATIENCE, SERVED, WHOLE, Case, Engine, Failed, Listener, check, run_cases,
                         same, wait_for)
from link_proxy import Proxy

ACCES, PROTO, INVAL, NOTSUP, RESET, LATE, CANCELED = -13, -71, -22, -95, -104, -110, -125
LEAT = os.environ["LEAT_BIN"]


class Authority:
    """Makes certificates, in a folder of its own."""

    def __init__(self, bench):
        self.folder = bench.file()
        os.mkdir(self.folder)
        self.ca, self.ca_key = self.path("ca.pem"), self.path("ca.key")
        self.openssl("req", "-x509", *NEW_KEY, "-keyout", self.ca_key, "-out", self.ca, "-days",
                     "2", "-subj", "/CN=authority")

    def path(self, name):
        return f"{self.folder}/{name}"

    def openssl(self, *words):
        done = subprocess.run(["openssl", *words], cwd=self.folder, capture_output=True, text=True,
                              check=False)
        same(f"openssl {words}: {done.stderr}", 0, done.returncode)

    def make(self, name, holders="DNS:localhost,IP:127.0.0.1", days=2):
        """The paths of a certificate and its key."""
        cert, key = self.path(name + ".pem"), self.path(name + ".key")
        with open(self.path("holders"), "w", encoding="utf-8") as file:
            file.write(f"subjectAltName={holders}\n")
        self.openssl("req", *NEW_KEY, "-keyout", key, "-out", self.path("request"), "-subj",
                     "/CN=engine")
        self.openssl("x509", "-req", "-in", self.path("request"), "-CA", self.ca, "-CAkey",
                     self.ca_key, "-CAcreateserial", "-days", str(days), "-extfile",
                     self.path("holders"), "-out", cert)
        return cert, key


NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


class TlsEngine(Engine):
    """A redis-server with a port for TLS, and the certificate it shows."""

    def __init__(self, bench, settings=None, password=None):
        self.authority = Authority(bench)
        cert, key = self.authority.make("engine")
        for left in range(5, 0, -1):
            self.port = free_port()  # which another program may take meanwhile
            try:
                super().__init__(bench, {
                    "tls-port": self.port, "tls-cert-file": cert, "tls-key-file": key,
                    "tls-auth-clients": "no", "tls-ca-cert-file": self.authority.ca} |
                    (settings or {}), password)
                break
            except Failed:
                if left == 1:
                    raise
        self.tls = f"rediss://localhost:{self.port}"

    def show(self, cert, key):
        self.ask("CONFIG", "SET", "tls-cert-file", cert, "tls-key-file", key)


def opens(case, url, environment=None, **options):
    """What leat_link_open returned to a far end, and what it printed."""
    far = case.bench.far(url, case.stage, case.log, environment, **options)
    if wait_for("it says something", far.process.stdout.peek).startswith(b"serves"):
        same("far end", SERVED, far.term())
        return 0, far.messages()
    return far.end()["open"], far.messages()


def refused(case, what, error, text, url, environment=None, **options):
    got, printed = opens(case, url, environment, **options)
    same(f"{what}: {printed}", error, got)
    check(text in printed, f"{what}: {printed}")
    check("message: " not in printed or printed.count("message: ") == 1, f"{what}: {printed}")


def whole(case, url, count, **options):
    """Items through both ends."""
    near = case.bench.near(url, case.stage, "run", case.outputs, count=count, n=16, **options)
    far = case.bench.far(url, case.stage, case.log, places=16, **options)
    return near, far


def ends_well(case, near, far, count):
    same("near end", WHOLE, near.end())
    same("far end", SERVED, far.term())
    same("outputs", [(i, 0, i * i) for i in range(count)], case.got())


def maps(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        return file.read()


def items(case):
    """Some thousand items come in order; and only an end that needs libssl loads it."""
    engine = TlsEngine(case.bench)
    near, far = whole(case, engine.tls, 5000, ca=engine.authority.ca)
    ends_well(case, near, far, 5000)
    near, far = whole(Case(case.bench, engine, "large"), engine.tls, 0, ca=engine.authority.ca)
    wait_for("it serves", far.process.stdout.peek)
    check("libssl" in maps(far.pid), "libssl is not loaded")
    same("near end", WHOLE, near.end())
    same("far end", SERVED, far.term())
    far = case.bench.far(engine.url, case.stage, case.log)
    wait_for("it serves", far.process.stdout.peek)
    check("libssl" not in maps(far.pid), "libssl is loaded")
    same("far end", SERVED, far.term())
    engine.kill()


def large(case):
    """Items and results of many records."""
    engine = TlsEngine(case.bench)
    case.engine = engine
    options = {"ca": engine.authority.ca, "max": 4000000}
    near = case.bench.near(engine.tls, case.stage, "run", case.outputs, **options)
    far = case.bench.far(engine.tls, case.stage, case.log, places=2, **options)
    near.feed("9 raw=2000000", *(f"{i}" + " " * 60000 for i in range(1, 100)))
    near.end_input()
    same("near end", WHOLE, near.end())
    same("far end", SERVED, far.term())
    same("outputs", [(0, PROTO, 0)] + [(i, 0, i * i) for i in range(1, 100)], case.got())
    engine.kill()


def certificates(case):
    """The engine's certificate is checked, and the reason is printed."""
    engine = TlsEngine(case.bench)
    ca, url = engine.authority.ca, engine.tls
    number = url.replace("localhost", "127.0.0.1")
    same("trusted", (0, ""), opens(case, url, ca=ca))
    same("a number", (0, ""), opens(case, number, ca=ca))
    same("the environment", (0, ""), opens(case, url, {"LEAT_LINK_CA": ca}))
    other = Authority(case.bench).ca
    refused(case, "another authority", ACCES, "is not trusted: ", url, ca=other)
    refused(case, "the field wins", ACCES, "is not trusted: ", url, {"LEAT_LINK_CA": ca}, ca=other)
    refused(case, "the system's", ACCES, "is not trusted: ", url, {"LEAT_LINK_CA": ""})
    engine.show(*engine.authority.make("name", "DNS:other.example,DNS:l*host,IP:127.0.0.2"))
    refused(case, "another name", ACCES, "ostname mismatch", url, ca=ca)
    refused(case, "another number", ACCES, "IP address mismatch", number, ca=ca)
    engine.show(*engine.authority.make("old", days=-1))
    refused(case, "expired", ACCES, "certificate has expired", url, ca=ca)
    engine.kill()


def files(case):
    """Files that are wrong, and a system without libssl."""
    engine = TlsEngine(case.bench)
    authority, url = engine.authority, engine.tls
    cert, key = authority.make("client")
    none, empty = authority.path("none"), authority.path("empty")
    with open(empty, "w", encoding="utf-8"):
        pass
    locked = authority.path("locked.key")
    authority.openssl("pkey", "-in", key, "-aes256", "-passout", "pass:x", "-out", locked)
    right = {"ca": authority.ca}
    refused(case, "no CA file", INVAL, "No such file", url, ca=none)
    refused(case, "an empty CA file", INVAL, empty, url, ca=empty)
    refused(case, "no certificate", INVAL, "No such file", url, **right, cert=none, key=key)
    refused(case, "no key", INVAL, "No such file", url, **right, cert=cert, key=none)
    refused(case, "another's key", INVAL, "mismatch", url, **right, cert=cert,
            key=authority.ca_key)
    refused(case, "a passphrase", INVAL, locked, url, **right, cert=cert, key=locked)
    refused(case, "without key", INVAL, "", url, **right, cert=cert)
    refused(case, "without key", INVAL, "LEAT_LINK_KEY", url, {"LEAT_LINK_CERT": cert}, **right)
    with open(authority.path("libssl.so.3"), "w", encoding="utf-8"):
        pass
    refused(case, "no libssl", NOTSUP, "libssl", url, {"LD_LIBRARY_PATH": authority.folder},
            **right)
    same("without TLS", (0, ""), opens(case, engine.url, {"LEAT_LINK_CA": none}))
    engine.kill()


def clients(case):
    """An engine that wants a certificate, too."""
    engine = TlsEngine(case.bench, {"tls-auth-clients": "yes"})
    url, authority, right = engine.tls, engine.authority, {"ca": engine.authority.ca}
    cert, key = authority.make("client", "DNS:client.example")
    wrong_cert, wrong_key = Authority(case.bench).make("client")
    for version in "TLSv1.3", "TLSv1.2":
        engine.ask("CONFIG", "SET", "tls-protocols", version)
        error, text = (ACCES, "certificate required") if version == "TLSv1.3" else \
            (PROTO, "handshake failure")
        refused(case, f"{version}: none", error, text, url, **right)
        refused(case, f"{version}: another authority's", ACCES, "unknown ca", url, **right,
                cert=wrong_cert, key=wrong_key)
        same(f"{version}: given", (0, ""), opens(case, url, **right, cert=cert, key=key))
        same(f"{version}: the environment", (0, ""), opens(
            case, url, {"LEAT_LINK_CERT": cert, "LEAT_LINK_KEY": key}, **right))
    engine.kill()


def password(case):
    engine = TlsEngine(case.bench, password="rosebud7")
    ca = engine.authority.ca
    same("right", (0, ""), opens(case, engine.tls, {"LEAT_LINK_PASSWORD": "rosebud7"}, ca=ca))
    same("in the address", (0, ""), opens(
        case, engine.tls.replace("//", "//:rosebud7@") + "/1", ca=ca))
    error, printed = opens(case, engine.tls.replace("//", "//:rosebud8@"), ca=ca)
    same("wrong", ACCES, error)
    check("rosebud" not in printed, printed)
    engine.kill()


def answer_all(answer):
    """A server that says always the same, and then hears until the other side ends."""
    def serve(client):
        if answer is not None:
            client.sendall(answer)
            while client.recv(4096):
                pass

    listener = Listener(serve)
    return listener, f"rediss://127.0.0.1:{listener.port}"


def strangers(case):
    """Ports that are of the other kind, or of none."""
    engine = TlsEngine(case.bench)
    ca = engine.authority.ca
    refused(case, "TLS without s", RESET, "rediss://", engine.tls.replace("rediss", "redis"))
    for answer, error, text in [
            (b"-ERR unknown command\r\n", PROTO, "does not speak TLS"),
            (bytes(range(256)) * 400, PROTO, "does not speak TLS"),
            (b"\x16\x03\x03\x40\x00\x02\xff\xff\xff" + b"x" * (1 << 20), PROTO, "speak TLS"),
            (b"\x15\x03\x03\x00\x02\x02\x28", PROTO, "refuses to speak TLS"),
            (None, RESET, "")]:
        listener, url = answer_all(answer)
        refused(case, str(answer)[:40], error, text, url, ca=ca)
        listener.close()
    plain = free_port()
    engine.ask("CONFIG", "SET", "port", plain)
    silent, urls = zip(*map(answer_all, (b"", b"\x16\x03\x03\x00\x05")))
    urls = [f"rediss://localhost:{plain}", *urls]
    fars = [case.bench.far(url, case.stage, case.log, ca=ca) for url in urls]
    # A Redis without TLS answers if what comes has the end of a line.
    same("a port without TLS", True, fars[0].end()["open"] in (PROTO, LATE, RESET))
    check("TLS" in fars[0].messages(), fars[0].messages())
    for far, listener in zip(fars[1:], silent):
        same("silent", {"open": LATE}, far.end())
        check("does its port have TLS?" in far.messages(), far.messages())
        listener.close()
    listener, url = answer_all(b"")
    far = case.bench.far(url, case.stage, case.log, ca=ca)
    wait_for("it has begun", lambda: "libssl" in maps(far.pid))
    same("cancelled", {"open": CANCELED}, far.term())
    listener.close()
    engine.kill()


def more_gate(case, count):
    with open(case.go, "a", encoding="utf-8") as file:
        file.write("x" * count)


def cuts(case):
    """Connections are cut, in handshakes too, and it goes on."""
    engine = TlsEngine(case.bench)
    case.engine = engine
    proxy = Proxy(("127.0.0.1", engine.port), 7, 60)
    url = proxy.url.replace("redis", "rediss")
    near, far = whole(case, url, 3000, ca=engine.authority.ca, insist=1, gate=case.go)
    for lines in 1000, 2000, 3000:
        more_gate(case, 1000)
        wait_for("outputs", lambda: len(case.got()) >= lines - 100)
        proxy.cut_all()
    ends_well(case, near, far, 3000)
    proxy.close()
    engine.kill()


def spoiled(case):
    """A byte of a reply is changed: that is noticed, and it goes on. In a handshake it would be an
    error that stays, so all connections are there before."""
    engine = TlsEngine(case.bench)
    case.engine = engine
    proxy = Proxy(("127.0.0.1", engine.port), 0, 0)
    url = proxy.url.replace("redis", "rediss")
    near, far = whole(case, url, 2000, ca=engine.authority.ca, gate=case.go)
    more_gate(case, 1000)
    wait_for("outputs", lambda: len(case.got()) >= 900)
    case.wait_for_listener()
    proxy.spoil()
    wait_for("a wrong byte", lambda: not proxy.to_spoil)
    more_gate(case, 1000)
    ends_well(case, near, far, 2000)
    proxy.close()
    engine.kill()


def deaf(case):
    """Both ends can be ended while the engine does not answer their handshakes."""
    engine = TlsEngine(case.bench)
    case.engine = engine
    proxy = Proxy(("127.0.0.1", engine.port), 0, 0)
    url = proxy.url.replace("redis", "rediss")
    near, far = whole(case, url, 1 << 40, ca=engine.authority.ca, gate=case.go)
    more_gate(case, 1)
    wait_for("outputs", case.got)
    os.kill(engine.process.pid, signal.SIGSTOP)
    proxy.cut_all()
    for program in near, far:
        program.wait_for_message("is away: ")
    same("near end", CANCELED, near.term()["ending"])
    same("far end", SERVED, far.term())
    proxy.close()
    engine.kill()


def commands(case):
    """leat map and leat worker."""
    engine = TlsEngine(case.bench)
    environment = os.environ | {"LEAT_LINK_CA": engine.authority.ca}
    folder, name = os.path.split(engine.authority.ca)
    # The file's name is one of the folder where the worker is started, not where it runs jobs.
    worker = case.bench.start(["sh", "-c", 'cd "$0" && exec "$@"', folder, os.path.abspath(LEAT),
                               "worker", engine.tls + "/q", "-j4", "--dir=/usr"],
                              case.bench.file(), environment={"LEAT_LINK_CA": name})

    def run(**changes):
        return subprocess.run(
            [LEAT, "map", f"--on={engine.tls}/q*4", "-s", "echo $1$1", ":::", *map(str, range(50))],
            capture_output=True, text=True, timeout=PATIENCE, check=False,
            env=environment | changes)

    done = run()
    same(f"leat map: {done.stderr}", 0, done.returncode)
    same("output", "".join(f"{i}{i}\n" for i in range(50)), done.stdout)
    done = run(LEAT_LINK_CA=Authority(case.bench).ca)
    same("leat map without trust", 2, done.returncode)
    check("is not trusted: " in done.stderr, done.stderr)
    worker.terminate()
    same("leat worker", 0, worker.wait(PATIENCE))
    engine.kill()


run_cases([items, large, certificates, files, clients, password, strangers, cuts, spoiled, deaf,
           commands])

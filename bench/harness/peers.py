"""The programs that are measured: how each is built and run."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

from work_rows import EIGHT, SIZES

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(BENCH)
OUT = os.path.join(ROOT, "build", "bench")
C_PROGRAMS = os.path.join(OUT, "bench")
RUST_PROGRAMS = os.path.join(OUT, "rust", "release")
JARS = """clojure core.async core.specs.alpha spec.alpha tools.analyzer tools.analyzer.jvm
          tools.reader core.cache core.memoize data.priority-map asm-all""".split()


class Missing(Exception):
    """This peer cannot be built here; the message says why."""


@dataclass
class Peer:
    name: str
    build: callable
    command: list
    cores: tuple = (1, 2)
    # Row -> the program's own name for it, if that differs.
    calls: dict = field(default_factory=dict)
    environment: dict = field(default_factory=dict)
    only: str = ".*"  # rows whose names match this
    one_process: bool = False  # warms up slowly, so its samples come from one process
    rows: set = field(default_factory=set)

    is_leat = property(lambda self: self.command == c_program("bench-leat"))


def sh(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **more)
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        raise Missing(f"{os.path.basename(command[0])} failed")
    return done.stdout


def cmake(target):
    def build():
        program = os.path.join(C_PROGRAMS, target)
        needs = {"bench-boost_fiber": "libboost-fiber-dev and g++ are not installed",
                 "bench-openmp": "the C compiler does not have it"}
        try:
            sh([os.path.join(ROOT, "scripts", "build"), "bench", target])
        except Missing:
            if target not in needs:
                raise
            raise Missing(needs[target]) from None
        if not os.path.exists(program):
            raise Missing(f"{program} was not built")
    return build


def build_go():
    if not shutil.which("go"):
        raise Missing("golang-go is not installed")
    sh(["go", "build", "-o", os.path.join(OUT, "go-bench"), "."], cwd=os.path.join(BENCH, "go"))


def distributions(tool):
    """The distribution's tool, or else the first on PATH: its crates need its compiler."""
    path = os.path.join("/usr/bin", tool)
    return path if os.access(path, os.X_OK) else shutil.which(tool)


def build_rust():
    cargo, rustc = distributions("cargo"), distributions("rustc")
    if not cargo or not rustc:
        raise Missing("rustc and cargo are not installed")
    crates = "/usr/share/cargo/registry"
    for crate in ("tokio", "crossbeam-channel", "flume"):
        if not any(re.fullmatch(rf"{crate}-\d.*", d) for d in
                   (os.listdir(crates) if os.path.isdir(crates) else ())):
            raise Missing(f"librust-{crate}-dev is not installed")
    sh([cargo, "build", "--release", "--offline", "--quiet"], cwd=os.path.join(BENCH, "rust"),
       env=dict(os.environ, RUSTC=rustc, CARGO_TARGET_DIR=os.path.join(OUT, "rust")))


def build_core_async():
    if not shutil.which("java"):
        raise Missing("default-jre-headless is not installed")
    for jar in JARS:
        if not os.path.exists(f"/usr/share/java/{jar}.jar"):
            raise Missing(f"{jar}.jar is not there: clojure, libcore-async-clojure")


def c_program(name):
    return [os.path.join(C_PROGRAMS, name)]


def rust_program(*words):
    return [os.path.join(RUST_PROGRAMS, words[0]), *words[1:]]


def all_peers():
    """leat first, then Go, the reference."""
    flume = {row: "flume_" + row for row in
             ("pingpong", "unbuffered_1to1", "unbuffered_4to4", "buffered_1to1", "buffered_4to4",
              "thread_to_task", "task_to_thread", "thread_task_pingpong",
              *(f"work_{shape}_{us}us" for shape in ("fan", "crowd", "chain") for us in SIZES))}
    return [
        Peer("leat", cmake("bench-leat"), c_program("bench-leat")),
        Peer(EIGHT, cmake("bench-leat"), c_program("bench-leat"), cores=(2,),
             environment={"LEAT_WORKERS": "8"}, only="work_.*"),
        Peer("Go", build_go, [os.path.join(OUT, "go-bench")]),
        Peer("tokio", build_rust, rust_program("tokio", "many")),
        Peer("tokio (1 thread)", build_rust, rust_program("tokio", "one"), cores=(1,)),
        Peer("flume on tokio", build_rust, rust_program("tokio", "many"), calls=flume),
        Peer("Boost.Fiber", cmake("bench-boost_fiber"), c_program("bench-boost_fiber")),
        Peer("core.async", build_core_async,
             ["java", "-XX:+UseParallelGC", "-cp",
              ":".join(f"/usr/share/java/{jar}.jar" for jar in JARS),
              "clojure.main", os.path.join(BENCH, "core_async", "bench.clj")], one_process=True),
        Peer("crossbeam", build_rust, rust_program("threads", "crossbeam")),
        Peer("flume", build_rust, rust_program("threads", "flume")),
        Peer("Rust's std", build_rust, rust_program("threads", "std")),
        Peer("pthread", cmake("bench-pthread"), c_program("bench-pthread")),
        Peer("OpenMP", cmake("bench-openmp"), c_program("bench-openmp")),
    ]


def ready(wanted, say):
    """Builds the peers. Returns those that it could build, and why the others are missing."""
    built, there, missing = {}, [], {}
    for peer in all_peers():
        if wanted and peer.name not in wanted and peer.name != "leat":
            continue
        try:
            shared = peer.build in (build_go, build_rust, build_core_async)
            key = peer.build if shared else peer.name
            if key not in built:
                say(f"building for {peer.name}")
                built[key] = None
                try:
                    peer.build()
                except (Missing, OSError) as why:
                    built[key] = str(why)
            if built[key]:
                raise Missing(built[key])
            rows = [row for row in sh(peer.command).split() if re.fullmatch(peer.only, row)]
        except Missing as why:
            if peer.name == "leat":
                raise SystemExit(f"bench: leat's own program: {why}") from None
            missing[peer.name] = str(why)
            say(f"without {peer.name}: {why}")
            continue
        if peer.calls:
            peer.rows = {row for row, call in peer.calls.items() if call in rows}
        else:
            peer.rows = set(rows)
        there.append(peer)
    return there, missing

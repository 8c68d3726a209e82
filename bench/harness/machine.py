"""The machine and the versions of the tools, for the report."""

import os
import platform
import re
import subprocess
import time


def first_line(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError:
        return None
    lines = done.stdout.strip().splitlines()
    return lines[0] if done.returncode == 0 and lines else None


def package(name):
    """The version of a package without what Debian adds."""
    version = first_line("dpkg-query", "-W", "-f", "${Version}", name)
    return version and re.sub(r"^\d+:|[-~+].*$", "", version)


def cpu_model():
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def cores():
    return len(os.sched_getaffinity(0))


def stolen():
    """Ticks of 10 ms that the hypervisor has given to other machines."""
    with open("/proc/stat") as f:
        return int(f.readline().split()[8])


def free_memory():
    with open("/proc/meminfo") as f:
        for line in f:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def describe():
    """(what, which) pairs."""
    with open("/proc/cpuinfo") as f:
        virtual = re.search(r"^flags.*\bhypervisor\b", f.read(), re.M)
    tools = {
        "C, C++": first_line("gcc", "--version"),
        "Go": first_line("go", "version"),
        "Rust": first_line("/usr/bin/rustc", "--version"),
        "Java": first_line("java", "-version"),
        "libraries": ", ".join(
            f"{name} {version}" for name, version in (
                ("tokio", package("librust-tokio-dev")),
                ("crossbeam-channel", package("librust-crossbeam-channel-dev")),
                ("flume", package("librust-flume-dev")),
                ("Boost.Fiber", package("libboost-fiber-dev")),
                ("Clojure", package("clojure")),
                ("core.async", package("libcore-async-clojure")),
            ) if version),
    }
    return [
        ("processor",
         f"{cpu_model()}, {cores()} cores" + (", a virtual machine" if virtual else "")),
        ("kernel", f"{platform.system()} {re.sub('[^0-9.].*$', '', platform.release())}"),
        ("C library", " ".join(platform.libc_ver())),
        *((what, which) for what, which in tools.items() if which),
        ("day", time.strftime("%Y-%m-%d")),
    ]

"""A Slurm cluster of two nodes on this machine, while a block runs."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

NODES = "node1", "node2"
CONFIG = Path("/etc/slurm/slurm.conf")  # the only place that jobs look for it
PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch"]
SETTINGS = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
KillWait=5
NodeName=node[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[17001-17002] CPUs=2 RealMemory=8000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """Why no cluster can be started here, or nothing."""
    if os.geteuid() != 0:
        return "slurmd starts jobs as other users: run as root"
    if absent := [name for name in PROGRAMS if shutil.which(name) is None]:
        return f"{', '.join(absent)} not installed (Debian: apt install slurm-wlm)"
    if CONFIG.exists():
        return f"{CONFIG} is there: this machine belongs to a cluster"
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        return "no snakemake-executor-plugin-slurm (pip install -e .[slurm])"
    return ""


@contextmanager
def cluster(folder):
    """Its daemons, with their state and logs below ``folder``; ended with all their jobs."""
    munge = folder / "munge"
    munge.mkdir(mode=0o755, parents=True)
    (folder / "state").mkdir()
    key = munge / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    files = {"key-file": key, "socket": munge / "socket", "pid-file": munge / "pid"}
    files |= {"log-file": munge / "log", "seed-file": munge / "seed"}
    options = [f"--{name}={path}" for name, path in files.items()]
    host = socket.gethostname().partition(".")[0]
    with ExitStack() as stack:
        CONFIG.write_text(SETTINGS.format(host=host, folder=folder))
        stack.callback(CONFIG.unlink)
        start(stack, "munged", "--foreground", "--force", *options)
        start(stack, "slurmctld", "-D")
        for node in NODES:
            start(stack, "slurmd", "-D", "-N", node)
        for _ in range(60):
            if said("sinfo", "-h", "-o", "%t %D") == "idle 2":
                break
            time.sleep(1)
        else:
            raise AssertionError((folder / "slurmctld.log").read_text())
        stack.callback(said, "scancel", "--full", "--user", "root")
        yield


def start(stack, *command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end():
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()

    stack.callback(end)


def said(*command):
    """What a command of Slurm printed."""
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def running(rule, *nodes):
    """The number and node of a job of a rule that runs, on one of some nodes, once there is one."""
    for _ in range(7200):
        for line in said("squeue", "-h", "-t", "R", "-o", "%i %N %k").splitlines():
            number, node, comment = line.split(" ", 2)
            if rule in comment and node in (nodes or NODES):
                return number, node
        time.sleep(0.5)
    raise AssertionError(f"no job of {rule} ran")

"""A Slurm cluster of two nodes on this machine, for as long as a test runs: munged, slurmctld and two slurmd with all
of their files in a folder of their own. Needs root, and the packages of `scripts/setup.sh slurm`.

The nodes pretend to have 64 cores, 1 TB and 4 GPUs each (devices like /dev/null), so that jobs need not be made
smaller for the test; what is measured of time on it means nothing.
"""

import os
import pathlib
import secrets
import shutil
import socket
import stat
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel", "sinfo")
GPUS = 4


class CannotStart(Exception):
    """Why there is no cluster."""


def _free_ports(number):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class LocalCluster:
    """`with LocalCluster(folder) as cluster:`; CannotStart says what is missing. Nothing is left when it ends."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_", "OMPI_"))}
        self.environment["SLURM_CONF"] = str(self.folder / "slurm.conf")
        # Open MPI would have ranks of both nodes meet in one shared memory, since they are on the same machine.
        self.environment["OMPI_MCA_btl"] = "self,tcp"
        self.environment["PATH"] = self.environment.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
        self._daemons = []

    def __enter__(self):
        missing = [name for name in PROGRAMS if not shutil.which(name, path=self.environment["PATH"])]
        if missing:
            raise CannotStart(f"there is no {', '.join(missing)}; scripts/setup.sh slurm installs Slurm")
        if os.geteuid() != 0:
            raise CannotStart("only root can start slurmd")
        try:
            try:
                self._configure()
            except OSError as error:  # some containers have no devices to make
                raise CannotStart(str(error)) from error
            self._start("munged", "--foreground", *self._munge_flags())
            self.wait_for("munged", (self.folder / "munge.socket").exists, seconds=60, error=CannotStart)
            self._start("slurmctld", "-D", "-c")
            for node in ("n1", "n2"):
                self._start("slurmd", "-D", "-N", node)
            both_idle = lambda: self.run("sinfo", "-h", "-o", "%D %t").stdout.split() == ["2", "idle"]
            self.wait_for("the nodes", both_idle, seconds=60, error=CannotStart)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_):
        try:
            self.run("scancel", "--full", "--state=RUNNING")
            self.run("scancel", "--state=PENDING")
            self.wait_for("the last jobs", lambda: not self.run("squeue", "-h").stdout.strip())
        finally:
            self._stop()

    def _stop(self):
        for daemon in reversed(self._daemons):
            daemon.terminate()
        for daemon in reversed(self._daemons):
            try:
                daemon.wait(timeout=5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def run(self, *command, **options):
        """Runs one of Slurm's commands to its end."""
        return subprocess.run(list(map(str, command)), env=self.environment, capture_output=True, text=True, check=False,
                              timeout=180, **options)

    def submit(self, *arguments, cwd, environment=None):
        """The number of the job that sbatch makes of its arguments."""
        done = subprocess.run(["sbatch", "--parsable", *map(str, arguments)], env=self.environment | (environment or {}),
                              cwd=cwd, capture_output=True, text=True, check=False, timeout=180)
        if done.returncode != 0:
            raise AssertionError(f"sbatch {arguments}: {done.stderr}")
        return done.stdout.strip()

    def fields(self, job):
        """What scontrol says of a job; of an array, of each of its tasks."""
        tasks = self.run("scontrol", "--oneliner", "show", "job", job).stdout.splitlines()
        return [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in tasks]

    def wait_for_end(self, job):
        """Waits until a job has ended, with all of its tasks, and returns its fields."""
        alive = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING")
        self.wait_for(f"job {job}", lambda: all(task["JobState"] not in alive for task in self.fields(job)))
        return self.fields(job)

    def wait_for(self, what, ready, seconds=180, error=AssertionError):
        """Waits until `ready()`, at most so long."""
        deadline = time.monotonic() + seconds
        while not ready():
            if any(daemon.poll() is not None for daemon in self._daemons):
                said = " ".join(path.read_text(errors="replace")[-300:] for path in self.folder.glob("*.out"))
                raise error(f"a daemon of Slurm has ended: {said}")
            if time.monotonic() > deadline:
                raise error(f"still waiting for {what} after {seconds} s")
            time.sleep(0.1)

    def _start(self, program, *arguments):
        with open(self.folder / f"{program}{len(self._daemons)}.out", "wb") as output:
            self._daemons.append(subprocess.Popen([program, *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                                                  stdout=output, stderr=output, cwd=self.folder))

    def _munge_flags(self):
        names = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munged.pid", "log-file": "munged.log",
                 "seed-file": "munged.seed"}
        return [f"--{flag}={self.folder / name}" for flag, name in names.items()]

    def _configure(self):
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        for gpu in range(GPUS):
            os.mknod(self.folder / f"gpu{gpu}", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        for name in ("state", "spool/n1", "spool/n2"):
            (self.folder / name).mkdir(parents=True)
        host = socket.gethostname().split(".")[0]
        controller, first, second = _free_ports(3)
        (self.folder / "gres.conf").write_text(f"NodeName=n[1-2] Name=gpu File={self.folder}/gpu[0-{GPUS - 1}]\n")
        (self.folder / "slurm.conf").write_text(f"""\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={self.folder}/munge.socket
CredType=cred/munge
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool/%n
TmpFS={self.folder}/spool/%n
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SlurmdParameters=config_overrides
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=1000
GresTypes=gpu
KillWait=30
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first},{second}] CPUs=64 RealMemory=1000000 Gres=gpu:{GPUS}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")

"""Carries out a Containerfile without an engine: its last stage in a folder made by debootstrap, and of the stage
before what it puts into /out. An instruction that is not known ends it, so that nothing is left out by mistake."""
import pathlib
import re
import shlex
import shutil
import subprocess

MIRROR = "http://deb.debian.org"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def instructions(text):
    """Each instruction and the rest of its line, comments and line breaks taken out."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.M)
    text = re.sub(r"\\\n\s*", "", text)
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def stages(text):
    """The instructions of each stage, its FROM first."""
    found = []
    for instruction in instructions(text):
        if instruction[0] == "FROM":
            found.append([])
        found[-1].append(instruction)
    return found


class Image:
    """A root file system, with what the Containerfile says of how processes run in it."""

    def __init__(self, folder, root):
        self.folder, self.root = folder, root
        self.variables, self.user, self.directory, self.entrypoint = {"PATH": PATH}, "root", "/", []

    def make(self, text, binaries):
        """binaries: the folder of a release build, in place of the one that the first stage makes."""
        first, last = stages(text)
        suite = re.search(r"debian:(\w+)-slim", last[0][1])[1]
        self.bootstrap(suite)
        out = self.build(first, binaries)
        for name, rest in last[1:]:
            getattr(self, f"do_{name.lower()}", self.unknown)(rest, out)
        self.add_runtime(binaries)

    def unknown(self, rest, _):
        raise SystemExit(f"try: an instruction of the Containerfile is not known: {rest}")

    def bootstrap(self, suite):
        subprocess.run(
            ["debootstrap", "--variant=minbase", suite, self.folder, f"{MIRROR}/debian"], check=True,
            stdout=subprocess.DEVNULL,
        )
        lines = [f"deb {MIRROR}/debian {suite} main", f"deb {MIRROR}/debian {suite}-updates main"]
        lines.append(f"deb {MIRROR}/debian-security {suite}-security main")
        (self.folder / "etc/apt/sources.list").write_text("\n".join(lines) + "\n")
        shutil.copy("/etc/resolv.conf", self.folder / "etc/resolv.conf")
        # This process has a mount namespace of its own: nobody else sees it, and it goes with the process.
        subprocess.run(["mount", "-t", "proc", "proc", self.folder / "proc"], check=True)

    def run(self, command, directory="/"):
        variables = {"PATH": PATH, "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root"}
        command = f"cd {shlex.quote(directory)} && {command}"
        done = subprocess.run(
            ["chroot", self.folder, "/bin/sh", "-c", command], env=variables, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        if done.returncode:
            raise SystemExit(f"try: failed with {done.returncode}: {command[:200]}\n{done.stdout[-3000:]}")

    def build(self, stage, binaries):
        """Runs the stage's command that fills /out, without compiling; returns where what it put there is now."""
        command = next(rest for name, rest in stage if name == "RUN" and "/out" in rest)
        source = self.folder / "src"
        ignored = (self.root / "compose/Containerfile.dockerignore").read_text().split()
        shutil.copytree(self.root, source, symlinks=True, ignore=lambda folder, names: [
            name for name in names if pathlib.Path(folder) == self.root and name in ignored])
        (source / ".build/release").mkdir(parents=True)
        subprocess.run(["mount", "--bind", binaries, source / ".build/release"], check=True)
        self.run(f"swift() {{ :; }}; {command}", "/src")
        subprocess.run(["umount", source / ".build/release"], check=True)
        shutil.rmtree(source)
        return shutil.move(self.folder / "out", self.folder.parent / "out")

    def do_run(self, rest, _):
        self.run(rest)

    def do_copy(self, rest, out):
        words = shlex.split(rest)
        options = dict(word[2:].split("=") for word in words if word.startswith("--"))
        source, target = [word for word in words if not word.startswith("--")]
        source = pathlib.Path(out) if options.get("from") else self.root / source
        target = self.folder / target.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy(source, target)
        if "chmod" in options:
            target.chmod(int(options["chmod"], 8))

    def do_env(self, rest, _):
        for word in shlex.split(rest):
            name, value = word.split("=", 1)
            self.variables[name] = re.sub(r"\$(\w+)", lambda match: self.variables[match[1]], value)

    def do_user(self, rest, _):
        self.user = rest

    def do_workdir(self, rest, _):
        self.directory = rest

    def do_volume(self, rest, _):
        if not (self.folder / rest.lstrip("/")).is_dir():
            raise SystemExit(f"try: the image has no folder {rest}")

    def do_entrypoint(self, rest, _):
        self.entrypoint = [word.strip(' "') for word in rest.strip("[]").split(",")]

    def do_cmd(self, rest, _):
        """compose.yaml names the command of each service."""

    def add_runtime(self, binaries):
        """A build by scripts/up has not Swift's runtime in its executables, as the image's have: it comes along."""
        libraries = set()
        for program in (self.folder / "opt/satchel/bin").iterdir():
            if program.is_file():
                found = subprocess.run(["ldd", binaries / program.name], capture_output=True, text=True).stdout
                libraries.update(re.findall(r"=> (\S*/swift/linux/\S+) ", found))
        for library in sorted(libraries):
            target = self.folder / library.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, target)
        if libraries:
            print(f"try: {len(libraries)} libraries of Swift's runtime are beside the executables, not in them")

# SPDX-License-Identifier: BSD-2-Clause
"""`make install` and what `make dist` has made: a tarball, a Debian package, a container image."""
import glob
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile

from harness import Skip, case, check, check_equal, check_in
from cases_static import inside
from nodes import TOP

DIST = os.path.join(TOP, "build", "dist")
PROGRAM = "build/ebeam-static"
TYPE = "application/vnd.oci.image."


def run(*command, **kwargs):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=TOP,
                          stdin=subprocess.DEVNULL, **kwargs)
    check_equal(done.returncode, 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def made(pattern):
    found = glob.glob(os.path.join(DIST, pattern))
    check_equal(len(found), 1, f"{pattern}: {found}")
    return found[0]


def files(root):
    """Path below the root -> (mode, SHA-256)."""
    found = {}
    for directory, _, names in os.walk(root):
        for name in names:
            path = os.path.join(directory, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, root)] = (oct(os.stat(path).st_mode & 0o7777),
                                                      hashlib.sha256(f.read()).hexdigest())
    return found


def install(ctx, name, *words):
    root = os.path.join(ctx.work_dir, name)
    run("make", "install", f"DESTDIR={root}", f"PROGRAM={PROGRAM}", *words, umask=0o027)
    return root


def installed(ctx):
    """Files below the prefix."""
    return files(install(ctx, "installed", "PREFIX=/usr") + "/usr")


def version():
    return run("build/ebeam", "version").split()[1]


@case("make install runs nothing that was built; make uninstall leaves nothing", otp="one")
def install_and_uninstall(ctx):
    root = os.path.join(ctx.work_dir, "a destination")
    words = (f"DESTDIR={root}", "PREFIX=/opt/e")
    # Nothing of the build can be run there, nor written.
    run("unshare", "--mount", "--propagation", "private", "sh", "-c",
        "mount --bind build build && mount -o remount,bind,ro,noexec build && exec \"$@\"", "sh",
        "make", "install", *words)
    seen = files(root)
    with open(os.path.join(TOP, "LICENSE"), "rb") as f:
        check_equal(seen["opt/e/share/doc/ebeam/LICENSE"][1], hashlib.sha256(f.read()).hexdigest(),
                    "licence")
    check_equal(seen["opt/e/bin/ebeam"][0], "0o755", "mode of the program")
    check_equal({mode for path, (mode, _) in seen.items() if path != "opt/e/bin/ebeam"}, {"0o644"},
                "modes of the others")
    pages = {f"opt/e/share/man/man{section}/ebeam{'' if name == 'ebeam' else '-' + name}.{section}"
             for section, name in (line.split()[:2] for line in
                                   run("build/ebeam", "help", "--list").splitlines())}
    check_equal({path for path in seen if "/man/" in path}, pages, "pages of the manual")
    run("make", "uninstall", *words)
    check_equal(files(root), {}, "files after uninstall")
    check(not os.path.exists(os.path.join(root, "opt/e/share/doc/ebeam")), "its folder is there")


@case("make takes CC, AR, PKG_CONFIG and EMULATOR from outside", otp="one")
def cross_build(ctx):
    said = run("make", "-nB", f"B={ctx.work_dir}/b", "CC=x-cc", "AR=x-ar", "PKG_CONFIG=echo x-pkg",
               "EMULATOR=x-run", "all", "static").replace("\\\n", " ")
    for words in (r"x-cc .*x-pkg --cflags libbpf .* -c -o \S+/b/obj/src/cmd/program/main.o src/cmd/program/main.c",
                  r"x-ar rcsD \S+/b/libebeam.a", r"x-cc .* -o \S+/b/ebeam .*x-pkg --libs libbpf",
                  r"x-cc .* -static .*x-pkg --static --libs libbpf", r"x-run \S+/b/ebeam help --man",
                  r"x-run \S+/b/ebeam completions zsh"):
        check(re.search(words, said), f"no {words!r}: {said[-3000:]}")
    check(not re.search(r"\b(cc|gcc|pkg-config|ar rcs)\b", said.replace("x-cc", "").replace(
        "x-ar rcsD", "")), "something else is called, too")


@case("one version in all: program, man page, tarball, package, image", otp="one")
def versions(ctx):
    number = version()
    check_equal(run(PROGRAM, "version"), f"ebeam {number}\n", "static program")
    with open(os.path.join(TOP, "build", "man", "man1", "ebeam.1"), encoding="utf-8") as f:
        check_in(f'"ebeam {number}"', f.readline(), "man page")
    check_equal(run("dpkg-deb", "-f", made("*.deb"), "Version").strip(), number, "package")
    made(f"ebeam-{number}-linux-*.tar.gz")
    config = Image(made("*-oci")).config
    check_equal(config["config"]["Labels"]["org.opencontainers.image.version"], number, "image")


@case("the tarball holds what make install installs, and the licences", otp="one")
def tarball(ctx):
    root = os.path.join(ctx.work_dir, "tarball")
    os.mkdir(root)
    run("tar", "-C", root, "--strip-components=1", "-xzf", made("*.tar.gz"))
    seen, wanted = files(root), installed(ctx)
    check_copyright(os.path.join(root, "share/doc/ebeam/copyright"))
    del seen["share/doc/ebeam/copyright"], wanted["share/doc/ebeam/LICENSE"]
    check_equal(seen, wanted, "files")


def check_copyright(path):
    with open(path, encoding="utf-8") as f, open(os.path.join(TOP, "LICENSE"), encoding="utf-8") as l:
        text = f.read()
        check_in(l.read(), text, "our licence")
    for source in ("glibc", "elfutils", "libbpf", "capstone", "ncurses", "pcre2", "jansson", "zlib"):
        check(re.search(rf"^---- {source} -", text, re.M), f"the licence of {source} is not there")
    check_in("GNU Lesser General Public License", text, "licences of libraries")


@case("the Debian package holds the same, as Debian wants it", otp="one")
def debian_package(ctx):
    package = made("*.deb")
    root = os.path.join(ctx.work_dir, "deb")
    run("dpkg-deb", "-R", package, root)
    control = dict(line.split(": ", 1) for line in run("dpkg-deb", "-f", package).splitlines()
                   if not line.startswith(" "))
    for field in ("Package", "Version", "Architecture", "Maintainer", "Installed-Size", "Section",
                  "Priority", "Built-Using", "Description"):
        check(control.get(field), f"no {field}: {control}")
    check("Depends" not in control, "it depends on something")
    run("sh", "-c", f"cd {root} && md5sum --quiet --strict -c DEBIAN/md5sums")
    check_equal(sorted(os.listdir(f"{root}/DEBIAN")), ["control", "md5sums"], "no scripts")
    seen = {p: row for p, row in files(root).items() if not p.startswith("DEBIAN")}
    reported = run("dpkg-deb", "-c", package).splitlines()
    check(all(re.match(r"[d-]rw[x-]r-[x-]r-[x-] root/root ", line) for line in reported), str(reported))
    wanted = {f"usr/{path}": row for path, row in installed(ctx).items()}
    moved = {"usr/share/zsh/vendor-completions/_ebeam": "usr/share/zsh/site-functions/_ebeam"}
    for path in [p for p in seen if "/man/" in p]:
        check(path.endswith(".gz"), f"{path} is not packed")
        with gzip.open(os.path.join(root, path)) as f:
            seen[path] = (seen[path][0], hashlib.sha256(f.read()).hexdigest())
        moved[path] = path[:-3]
    for new, old in moved.items():
        check_equal(seen.pop(new), wanted.pop(old), new)
    check_copyright(f"{root}/usr/share/doc/ebeam/copyright")
    with open(f"{root}/usr/share/doc/ebeam/README.Debian", encoding="utf-8") as f:
        check_in("setcap cap_bpf,cap_perfmon,cap_sys_ptrace", f.read(), "note on capabilities")
    with gzip.open(f"{root}/usr/share/doc/ebeam/changelog.gz", "rt") as f:
        check_in(f"ebeam ({version()})", f.read(), "changelog")
    for name in ("copyright", "README.Debian", "changelog.gz"):
        del seen[f"usr/share/doc/ebeam/{name}"]
    del seen["usr/share/lintian/overrides/ebeam"], wanted["usr/share/doc/ebeam/LICENSE"]
    check_equal(seen, wanted, "files")


@case("dpkg installs the package, which runs there, and removes it", otp="one")
def debian_install(ctx):
    root = os.path.join(ctx.work_dir, "debian")
    for directory in ("info", "updates"):
        os.makedirs(f"{root}/var/lib/dpkg/{directory}")
    for directory in ("proc", "sys", "tmp"):
        os.mkdir(f"{root}/{directory}")
    open(f"{root}/var/lib/dpkg/status", "w").close()
    run("dpkg", f"--root={root}", "--install", made("*.deb"))
    check_equal(run(*inside(root), "/usr/bin/ebeam", "version"), f"ebeam {version()}\n", "version")
    run("dpkg", f"--root={root}", "--purge", "ebeam")
    check(not os.path.exists(f"{root}/usr"), "files are left")


class Image:
    """An OCI image layout, each blob checked by its digest and size."""

    def __init__(self, directory):
        self.directory = directory
        with open(os.path.join(directory, "oci-layout"), encoding="utf-8") as f:
            check_equal(json.load(f), {"imageLayoutVersion": "1.0.0"}, "oci-layout")
        with open(os.path.join(directory, "index.json"), encoding="utf-8") as f:
            index = json.load(f)
        check_equal((index["schemaVersion"], index["mediaType"], len(index["manifests"])),
                    (2, TYPE + "index.v1+json", 1), "index.json")
        entry = index["manifests"][0]
        self.manifest = json.loads(self.blob(entry, "manifest.v1+json"))
        check_equal((self.manifest["schemaVersion"], self.manifest["mediaType"],
                     len(self.manifest["layers"])), (2, TYPE + "manifest.v1+json", 1), "manifest")
        self.config = json.loads(self.blob(self.manifest["config"], "config.v1+json"))
        check_equal({k: self.config[k] for k in ("architecture", "os")}, entry["platform"],
                    "platform")
        self.layer = gzip.decompress(self.blob(self.manifest["layers"][0], "layer.v1.tar+gzip"))
        check_equal(self.config["rootfs"],
                    {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(self.layer).hexdigest()]},
                    "rootfs")

    def blob(self, descriptor, kind):
        check_equal(descriptor["mediaType"], TYPE + kind, "media type")
        algorithm, digest = descriptor["digest"].split(":")
        check_equal(algorithm, "sha256", "digest")
        with open(os.path.join(self.directory, "blobs", "sha256", digest), "rb") as f:
            data = f.read()
        check_equal((hashlib.sha256(data).hexdigest(), len(data)), (digest, descriptor["size"]),
                    "digest and size of a blob")
        return data


@case("the container image: JSON, digests, and what is in it runs in a chroot", otp="one")
def image(ctx):
    found = Image(made("*-oci"))
    blobs = os.listdir(os.path.join(found.directory, "blobs", "sha256"))
    check_equal(len(blobs), 3, "blobs: manifest, configuration and layer")
    config = found.config["config"]
    root = os.path.join(ctx.work_dir, "image")
    os.mkdir(root)
    with open(root + ".tar", "wb") as f:
        f.write(found.layer)
    with tarfile.open(root + ".tar") as tar:
        members = {m.name: m for m in tar}
    for name, member in members.items():
        check_equal((member.uid, member.gid, member.mode & 0o055), (0, 0, 0o055 if member.isdir()
                    or name == "usr/bin/ebeam" else 0o044), f"owner and mode of {name}")
        # A folder that is not declared is made by runtimes as one that only root may enter.
        check(os.path.dirname(name) in {*members, ""}, f"the folder of {name} is not there")
    run("tar", "-C", root, "-xf", root + ".tar")
    check_equal(sorted(files(root)), ["usr/bin/ebeam", "usr/share/doc/ebeam/copyright"], "files")
    check_equal(files(root)["usr/bin/ebeam"], files(TOP + "/build")["ebeam-static"], "program")
    for directory in ("proc", "sys", "tmp"):  # those that a runtime makes
        os.mkdir(os.path.join(root, directory))
    environment = ["env", "-i", *config["Env"]]
    said = run(*inside(root), *config["Entrypoint"], *config["Cmd"])
    check_in("usage: ebeam", said, "what it does by itself")
    rows = json.loads(run("/usr/bin/env", "-i", "PATH=" + os.environ["PATH"], *inside(root),
                          *config["Entrypoint"], "list", "-j"))["data"]
    check_equal([environment[2].split("=")[0], isinstance(rows, list)], ["PATH", True], "list")


@case("the archive of the image is the folder, with what older docker reads", otp="one")
def image_archive(ctx):
    folder = made("*-oci")
    root = os.path.join(ctx.work_dir, "archive")
    os.mkdir(root)
    run("tar", "-C", root, "-xf", folder + ".tar")
    check_equal(files(root), files(folder), "files")
    found = Image(folder)
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as f:
        row, = json.load(f)
    blob = "blobs/sha256/{}".format
    check_equal(row, {"Config": blob(found.manifest["config"]["digest"].split(":")[1]),
                      "RepoTags": [f"localhost/ebeam:{version()}"],
                      "Layers": [blob(found.manifest["layers"][0]["digest"].split(":")[1])]},
                "manifest.json")


@case("built in another folder, by another user's habits, all of it is the same bytes", otp="one",
      timeout=900, long=True)
def reproducible(ctx):
    copy = os.path.join(ctx.work_dir, "another place for the same".replace(" ", "/"))
    os.makedirs(copy)
    if os.path.isdir(os.path.join(TOP, ".git")) or os.path.isfile(os.path.join(TOP, ".git")):
        names = run("git", "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    else:
        raise Skip("no git: which files are the sources?")
    for name in names:
        if os.path.isfile(os.path.join(TOP, name)):
            os.makedirs(os.path.dirname(os.path.join(copy, name)), exist_ok=True)
            shutil.copy(os.path.join(TOP, name), os.path.join(copy, name))
    with tarfile.open(made("*.tar.gz")) as tar:
        epoch = tar.next().mtime
    run("make", "-C", copy, f"-j{os.cpu_count()}", "dist", umask=0o077,
        env=dict(os.environ, SOURCE_DATE_EPOCH=str(epoch), TZ="Asia/Kathmandu", LANG="C", LC_ALL="C",
                 HOME="/nowhere"))
    other = files(os.path.join(copy, "build", "dist"))
    shutil.rmtree(copy)
    check_equal(other, files(DIST), "files of make dist")

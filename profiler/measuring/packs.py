"""What comes back: few files of bounded size, each of which can be read without the others."""

import io
import json
import os
import tarfile

MOST_BYTES = 16 << 20
_END = 10240  # an archive's end is rounded up to this


def _room(size):
    return 512 + (size + 511) // 512 * 512


def write(path, session, files, most_bytes=MOST_BYTES):
    """A tar of session.json and of `files` ({name: path}, the most valuable first) as long as they fit.

    Returns the names that were left out, and why nothing could be written or None. The file is written beside `path` and
    renamed, so an earlier one is lost to a whole one alone. Where the disk is full, an earlier one stays; without one, ever
    fewer files are tried.
    """
    text = json.dumps(session, indent=1).encode()
    chosen, left_out, used = [], [], _room(len(text)) + _END
    for name, source in files.items():
        try:
            need = _room(os.path.getsize(source))
        except OSError:
            continue
        if used + need <= most_bytes:
            chosen.append((name, source))
            used += need
        else:
            left_out.append(name)
    while True:
        try:
            _write(path, text, chosen)
            return left_out, None
        except OSError as error:
            if not chosen or os.path.exists(path):
                return left_out + [name for name, _ in chosen], f"{path}: {error.strerror}"
            keep = len(chosen) // 2
            left_out += [name for name, _ in chosen[keep:]]
            chosen = chosen[:keep]


def _write(path, text, chosen):
    beside = path + ".part"
    try:
        with tarfile.open(beside, "w") as archive:
            header = tarfile.TarInfo("session.json")
            header.size = len(text)
            archive.addfile(header, io.BytesIO(text))
            for name, source in chosen:
                archive.add(source, arcname=name)
        os.replace(beside, path)
    finally:
        if os.path.exists(beside):
            os.unlink(beside)


def _session(content):
    told = json.loads(content)
    if not isinstance(told, dict) or not isinstance(told.get("written"), int):
        raise ValueError("its session.json is none of `measure run`")
    return told


def unpack(folder, out):
    """Puts the files of all archives of `folder` into `out`. Returns the session as the latest of them tells it, or None."""
    latest = None
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".tar"):
            continue
        try:
            with tarfile.open(os.path.join(folder, name)) as archive:
                for member in archive:
                    if not member.isreg() or member.name.startswith("/") or ".." in member.name.split("/"):
                        continue
                    content = archive.extractfile(member).read()
                    if member.name == "session.json":
                        told = _session(content)
                        if latest is None or told["written"] > latest["written"]:
                            latest = told
                        continue
                    target = os.path.join(out, member.name)
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    with open(target, "wb") as file:
                        file.write(content)
        except (tarfile.TarError, OSError, ValueError, KeyError) as error:
            print(f"{os.path.join(folder, name)} is damaged and was read as far as it goes ({error}).")
    return latest

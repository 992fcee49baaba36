#!/bin/sh
# Makes the project's environment: usage setup.sh PYTHON VENV
set -eu
python=$1
venv=$2

"$python" - <<'CHECK' || exit 1
import sys
if sys.version_info < (3, 11):
    sys.exit(f"deniable needs Python 3.11 or newer; this is {sys.version.split()[0]}. Try: make PYTHON=python3.12 ...")
CHECK

if [ ! -x "$venv/bin/python" ]; then
    echo "making the environment in $venv (once; a minute or two) ..."
    if ! "$python" -m venv "$venv" 2>/dev/null; then
        # Debian ships venv apart from Python.
        rm -rf "$venv"
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
            echo "installing python3-venv ..."
            apt-get update -q >/dev/null && apt-get install -qy python3-venv >/dev/null
            "$python" -m venv "$venv"
        else
            echo "Python's venv module is missing; on Debian and Ubuntu: apt-get install python3-venv" >&2
            exit 1
        fi
    fi
fi

echo "installing deniable and its development tools ..."
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[cli]" --group dev
touch "$venv/.complete"

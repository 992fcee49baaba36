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
    if ! "$python" -c "import ensurepip" 2>/dev/null; then
        # Debian ships venv apart from Python.
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
            echo "installing python3-venv ..."
            apt-get update -q >/dev/null && apt-get install -qy python3-venv >/dev/null
        else
            echo "Python's venv module is missing; on Debian and Ubuntu: apt-get install python3-venv" >&2
            exit 1
        fi
    fi
    "$python" -m venv "$venv"
elif [ "$("$python" -c 'import sys; print(sys.version_info[:2])')" != "$("$venv/bin/python" -c 'import sys; print(sys.version_info[:2])')" ]; then
    echo "note: $venv was made with another Python; run 'make clean' to change it" >&2
fi

echo "installing deniable and its development tools ..."
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[lab,server]" --group dev

if ! command -v initdb >/dev/null && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
    # The tests start a server of their own; the package's service is of no use to them.
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing PostgreSQL for the tests ..."
        { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends postgresql; } >/dev/null 2>&1 \
            || echo "PostgreSQL could not be installed: the tests that need it will be skipped" >&2
    else
        echo "note: PostgreSQL is not installed: the tests that need it will be skipped (on Debian and Ubuntu: apt-get install postgresql)" >&2
    fi
fi
touch "$venv/.complete"

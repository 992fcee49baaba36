#!/bin/sh
# Makes the environment with the library, its command and all that they need to run: usage setup.sh PYTHON VENV
# The demo and the examples need no more (but for Spark); scripts/setup_tests.sh adds the rest.
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

echo "installing deniable ..."
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[all]"
touch "$venv/.installed"

#!/bin/sh
# Adds what the tests, the docs and the benchmarks need to the environment that scripts/setup.sh made: usage setup_tests.sh PYTHON VENV
set -eu
python=$1
venv=$2

echo "installing what the tests and the docs need (once; some minutes) ..."
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1" # the first with --group
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[all,spark]" --group dev

# Apache Beam holds pyarrow back, so its tests have an environment of their own.
echo "installing Apache Beam in $venv-beam ..."
{
    [ -x "$venv-beam/bin/python" ] || "$python" -m venv "$venv-beam"
    "$venv-beam/bin/python" -m pip install --quiet --disable-pip-version-check --constraint constraints-beam.txt --editable ".[beam]"
} || echo "Apache Beam could not be installed: its tests will be skipped" >&2

# What some of the tests need beside Python. Those that lack it are skipped, except under CI=true, where that is a failure.
need() { # need PACKAGES PURPOSE
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing $1 for the tests $2 ..."
        # shellcheck disable=SC2086  # several packages are several words
        { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $1; } >/dev/null 2>&1 \
            || echo "$1 could not be installed: the tests $2 will be skipped" >&2
    else
        echo "note: the tests $2 will be skipped (on Debian and Ubuntu: apt-get install $1)" >&2
    fi
}
if ! command -v initdb >/dev/null && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
    need postgresql "of collectors that share a database"
fi
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    need "nodejs npm" "of the client in JavaScript"
fi
if ! command -v systemd-analyze >/dev/null; then
    need systemd "of the unit file"
fi
if ! command -v java >/dev/null; then
    need default-jre-headless "on Spark" # 17 or newer: Debian 12 and Ubuntu 24.04, and what came after them
fi
if ! command -v nginx >/dev/null && [ ! -x /usr/sbin/nginx ]; then
    need nginx "of the configuration for a proxy"
fi
if ! command -v chromium >/dev/null; then
    need chromium "in a browser"
fi
if [ ! -e .bench/node_modules/axe-core/axe.min.js ] || [ ! -e .bench/node_modules/.bin/esbuild ]; then
    # One checks the dashboard's pages for faults that keep people out, the other bundles the client; fetched, not kept in the repository.
    { command -v npm >/dev/null && npm install --silent --no-save --prefix .bench axe-core@4.14.0 esbuild@0.28.2; } >/dev/null 2>&1 \
        || echo "note: axe-core and esbuild could not be installed with npm: the tests that need them will be skipped" >&2
fi
touch "$venv/.complete"

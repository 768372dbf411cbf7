#!/usr/bin/env bash
# Builds and installs Tessera from this checkout.
#
#   ./install.sh [--prefix DIR]        build, install DIR/bin/tessera (default ~/.local)
#   ./install.sh demo [--prefix DIR]   the same, then play the demo: bundled model, sample repository
#   ./install.sh test                  install what the tests need and run them all
#
# Installs what is missing: a Rust toolchain through rustup when cargo is absent or too old, python3 and
# git through apt (the demo and the tests run a small Python project). A second run does no work twice.
set -euo pipefail
cd "$(dirname "$0")"

prefix="${HOME}/.local"
mode=install
while [ $# -gt 0 ]; do
  case "$1" in
    demo | test) mode=$1 ;;
    --prefix) shift; prefix="${1:?--prefix needs a folder}" ;;
    --prefix=*) prefix="${1#--prefix=}" ;;
    -h | --help) sed -n '2,9p' "$0" | sed 's/^# \{0,1\}//'; exit 0 ;;
    *) echo "install.sh: unknown argument '$1' (try --help)" >&2; exit 2 ;;
  esac
  shift
done

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

# Debian and its relatives only; elsewhere say what is needed.
need_packages() {
  local missing=()
  for pair in "$@"; do have "${pair%%:*}" || missing+=("${pair##*:}"); done
  [ ${#missing[@]} -eq 0 ] && return 0
  local sudo=""
  [ "$(id -u)" = 0 ] || sudo=sudo
  if ! have apt-get || { [ -n "$sudo" ] && ! have sudo; }; then
    echo "install.sh: please install: ${missing[*]}" >&2
    exit 1
  fi
  say "installing ${missing[*]}"
  $sudo apt-get update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

wanted_rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
rust_is_new_enough() {
  have cargo || return 1
  local found
  found=$(rustc --version | sed 's/^rustc \([0-9]*\.[0-9]*\).*/\1/')
  [ "$(printf '%s\n%s\n' "$wanted_rust" "$found" | sort -V | head -1)" = "$wanted_rust" ]
}

need_rust() {
  [ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
  rust_is_new_enough && return 0
  need_packages curl:curl
  if have rustup; then
    say "updating Rust (need $wanted_rust)"
    rustup update stable
  else
    say "installing Rust through rustup (need $wanted_rust)"
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal
    . "$HOME/.cargo/env"
  fi
  rust_is_new_enough || { echo "install.sh: Rust $wanted_rust or newer is needed" >&2; exit 1; }
}

need_packages cc:gcc git:git
need_rust

case "$mode" in
  test)
    need_packages python3:python3
    exec cargo test --locked
    ;;
  install | demo)
    say "building (release)"
    cargo build --release --locked --bin tessera
    built="${CARGO_TARGET_DIR:-target}/release/tessera"
    mkdir -p "$prefix/bin"
    if ! cmp -s "$built" "$prefix/bin/tessera"; then
      # Beside, then over: a running tessera keeps its own file.
      cp "$built" "$prefix/bin/.tessera.new"
      mv "$prefix/bin/.tessera.new" "$prefix/bin/tessera"
    fi
    say "installed $prefix/bin/tessera"
    case ":$PATH:" in *":$prefix/bin:"*) ;; *) say "add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;; esac
    ;;
esac

if [ "$mode" = demo ]; then
  need_packages python3:python3
  if [ -t 0 ] && [ -t 1 ]; then
    exec "$prefix/bin/tessera" demo
  fi
  say "no terminal here: the demo runs without its interface"
  exec "$prefix/bin/tessera" demo --headless
fi

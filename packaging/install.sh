#!/bin/sh
# Installs emend {{version}} into the home directory, without root:
#   curl -fsSL {{base}}/install.sh | sh
# EMEND_INSTALL_DIR   the directory of the program; ~/.local/bin otherwise
# EMEND_BASE_URL      where the archives are, also file:///directory
# --uninstall         removes what was installed
set -eu

version='{{version}}'
base="${EMEND_BASE_URL:-{{base}}}"
home="${HOME:?HOME is not set}"
bin="${EMEND_INSTALL_DIR:-$home/.local/bin}"
share="${XDG_DATA_HOME:-$home/.local/share}"

# Names and SHA-256 checksums of the archives of this version.
checksums() {
    cat <<'SUMS'
{{sums}}
SUMS
}

fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

# The files that are installed besides the program: source in the archive, destination.
extras() {
    cat <<FILES
completions/emend.bash $share/bash-completion/completions/emend
completions/_emend $share/zsh/site-functions/_emend
completions/emend.fish $share/fish/vendor_completions.d/emend.fish
emend.1 $share/man/man1/emend.1
FILES
}

uninstall() {
    [ -e "$bin/emend" ] || fail "there is no $bin/emend; set EMEND_INSTALL_DIR to the directory it was installed in"
    rm -f "$bin/emend"
    extras | while read -r _ to; do rm -f "$to"; done
    echo "removed $bin/emend, its completions and its manual page"
    echo "kept your settings and history; \`rm -r ${XDG_STATE_HOME:-$home/.local/state}/emendate\` deletes the history"
}

target() {
    case "$(uname -s) $(uname -m)" in
        'Linux x86_64' | 'Linux amd64') echo x86_64-unknown-linux-musl ;;
        'Linux aarch64' | 'Linux arm64') echo aarch64-unknown-linux-musl ;;
        'Darwin arm64') echo aarch64-apple-darwin ;;
        'Darwin x86_64') echo x86_64-apple-darwin ;;
        *) fail "there is no build for $(uname -s) on $(uname -m); build from source with \`cargo install emendate-cli\`" ;;
    esac
}

fetch() { # URL FILE
    case "$1" in
        file://*) cp "${1#file://}" "$2" ;;
        https://* | http://127.0.0.1:* | http://localhost:*)
            if command -v curl >/dev/null; then
                curl -fsSL --retry 3 -o "$2" "$1"
            elif command -v wget >/dev/null; then
                wget -q -O "$2" "$1"
            else
                fail "neither curl nor wget is installed"
            fi
            ;;
        *) fail "refusing to download from $1: only https is safe" ;;
    esac || fail "cannot download $1"
}

sha256() { # FILE
    if command -v sha256sum >/dev/null; then
        sha256sum "$1"
    elif command -v shasum >/dev/null; then
        shasum -a 256 "$1"
    else
        openssl dgst -sha256 -r "$1"
    fi | cut -d ' ' -f 1
}

install_all() {
    target=$(target)
    archive="emend-$version-$target.tar.gz"
    expected=$(checksums | awk -v name="$archive" '$2 == name { print $1 }')
    [ -n "$expected" ] || fail "this release has no archive for $target"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT INT TERM
    fetch "$base/$archive" "$work/$archive"
    found=$(sha256 "$work/$archive")
    [ "$found" = "$expected" ] || fail "the checksum of $archive is $found, not $expected; nothing was installed"
    tar -xzf "$work/$archive" -C "$work"
    from="$work/emend-$version-$target"
    "$from/emend" --version >/dev/null || fail "the program does not run on this system; nothing was installed"
    mkdir -p "$bin"
    # A new name first, so that a running program is replaced and not overwritten.
    cp "$from/emend" "$bin/.emend.new"
    chmod 755 "$bin/.emend.new"
    mv -f "$bin/.emend.new" "$bin/emend"
    extras | while read -r source to; do
        mkdir -p "$(dirname "$to")"
        cp "$from/$source" "$to"
    done
    echo "installed emend $version as $bin/emend"
    # The command for the user contains a variable of the user's shell.
    # shellcheck disable=SC2016
    case ":$PATH:" in
        *":$bin:"*) echo "next: emend tour, emend setup" ;;
        *) printf 'next: add it to your PATH with\n  export PATH="%s:$PATH"\nthen: emend tour, emend setup\n' "$bin" ;;
    esac
}

case "${1:-}" in
    '') install_all ;;
    --uninstall) uninstall ;;
    *) fail "unknown argument $1; only --uninstall is known" ;;
esac

//! Tests that need root: file systems that are full or become read-only, and files of other users. Each test runs in a
//! mount namespace of its own, so nothing is left behind. Without the permission to create one it is skipped with a
//! message.

use crate::workspace::{Ran, TestWorkspace, feed};
use std::process::Command;

/// Runs a script in a mount namespace of its own, with `emend` as `$emend`. Returns `None` if that is not permitted.
fn play(workspace: &TestWorkspace, script: &str) -> Option<Ran> {
    if !Command::new("unshare")
        .args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"])
        .status()
        .is_ok_and(|it| it.success())
    {
        println!("left out: mount namespaces are not allowed here");
        return None;
    }
    let plain = workspace.command(&[]);
    let mut command = Command::new("unshare");
    let script = format!("umask 022; fails() {{ if \"$@\"; then exit 9; fi; }}\n{script}");
    command.args(["-m", "sh", "-euc", &script]).current_dir(workspace.beside("")).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("emend", plain.get_program());
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    Some(feed(command, b""))
}

/// Mounts a small file system on the root and fills it, except for a file of 600 KB and 64 KB of free space.
const SMALL: &str = "
    mount -t tmpfs -o size=2m,mode=755 none work
    seq 1 90000 > old; cp old work/big; echo one > work/small; ln work/small work/twin
    room=$(df --output=avail -B1 work | tail -1)
    head -c $((room - 65536)) /dev/zero > work/fill
    same() { cmp old work/big && [ \"$(ls -A work)\" = \"$(printf 'big\\nfill\\nsmall\\ntwin')\" ]; }
";

#[test]
fn full_disk_is_reported_and_nothing_is_truncated() {
    let workspace = TestWorkspace::new();
    let script = "
        cd work
        fails \"$emend\" edit big --old 77777 --new changed 2> ../said
        cd ..; same
        grep -F '[io.no_space]' said; grep -E 'needed: .* .[0-9]+ bytes.*, free: .* .[0-9]+ bytes' said
        # In place, the file grows where it is.
        cp old work/fill 2>/dev/null || true; cat /dev/zero > work/fill 2>/dev/null || true
        cd work
        printf '{\"file_path\":\"%s/small\",\"content\":\"%s\"}' \"$PWD\" \"$(seq 1 9000 | tr '\\n' ' ')\" | fails \"$emend\" call write 2> ../said
        cd ..; [ \"$(cat work/small)\" = one ]; same
        rm work/fill
        cd work; \"$emend\" edit big --old 77777 --new changed > /dev/null; grep -c changed big";
    if let Some(ran) = play(&workspace, &format!("{SMALL}{script}")) {
        assert!(ran.exits(0).out.ends_with("1\n"));
    }
}

#[test]
fn disk_without_free_inodes_is_reported() {
    let workspace = TestWorkspace::new();
    let script = "
        mount -t tmpfs -o nr_inodes=4,mode=755 none work
        cd work; echo one > a; echo one > b; echo one > c
        fails \"$emend\" edit a --old one --new two 2> ../said
        grep -F '[io.no_space]' ../said; grep -F 'free inodes: 0 of 4' ../said
        [ \"$(cat a)\" = one ]; rm c
        \"$emend\" edit a --old one --new two > /dev/null; ls -A";
    if let Some(ran) = play(&workspace, script) {
        assert!(ran.exits(0).out.ends_with("a\nb\n"));
    }
}

#[test]
fn disk_that_becomes_read_only_is_reported() {
    let workspace = TestWorkspace::new();
    let script = "
        mount -t tmpfs -o mode=755 none work
        cd work; echo one > a; echo one > b
        edit() { printf '*** Begin Patch\\n*** Update File: a\\n@@\\n-%s\\n+%s\\n*** Update File: b\\n@@\\n-%s\\n+%s\\n*** End Patch\\n' $1 $2 $1 $2 | \"$emend\" apply; }
        edit one two > /dev/null
        mount -o remount,ro ../work
        fails edit two three 2> ../said
        fails \"$emend\" undo 2>> ../said
        grep -c 'io.read_only' ../said
        cat a b; ls -A
        mount -o remount,rw ../work
        edit two three > /dev/null; cat a b";
    if let Some(ran) = play(&workspace, script) {
        assert!(ran.exits(0).out.ends_with("two\ntwo\na\nb\nthree\nthree\n"));
    }
}

/// A move to another file system is a copy and a removal: both happen, or neither.
#[test]
fn move_to_another_file_system_is_atomic() {
    let workspace = TestWorkspace::new();
    let script = "
        mkdir work/far; mount -t tmpfs -o size=64k,mode=755 none work/far
        cd work; printf 'one\\ntwo\\n' > a; chmod 750 a; setfattr -n user.x -v y a 2>/dev/null || true
        move() { printf '*** Begin Patch\\n*** Update File: %s\\n*** Move to: %s\\n@@\\n-one\\n+ONE\\n two\\n*** End Patch\\n' $1 $2 | \"$emend\" apply; }
        head -c 65536 /dev/zero > far/fill 2>/dev/null || true
        fails move a far/b 2> ../said
        grep -F '[io.no_space]' ../said; cat a; ls -A far
        rm far/fill; move a far/b > /dev/null
        cat far/b; stat -c %a far/b; ls -A . far; \"$emend\" undo > /dev/null; cat a; stat -c %a a; ls -A far";
    if let Some(ran) = play(&workspace, script) {
        let ran = ran.exits(0);
        let want = "one\ntwo\nfill\nONE\ntwo\n750\n.:\nfar\n\nfar:\nb\none\ntwo\n750\n";
        assert!(ran.out.ends_with(want), "{ran:?}");
    }
}

/// The disk repeatedly becomes read-only and writable while edits run. Every edit that a reply reports as done is
/// there.
#[test]
fn disk_that_switches_between_modes_loses_nothing() {
    let workspace = TestWorkspace::new();
    let script = "
        mount -t tmpfs -o mode=755 none work
        cd work; echo 'count 0' > a
        ( while [ ! -e ../stop ]; do mount -o remount,ro ../work 2>/dev/null || true; mount -o remount,rw ../work; done ) & other=$!
        done=0; tried=0
        while [ $tried -lt 60 ]; do
            tried=$((tried + 1))
            if \"$emend\" edit a --old \"count $done\" --new \"count $((done + 1))\" > /dev/null 2> ../said; then done=$((done + 1));
            elif grep -q -F '[io.partial]' ../said; then done=$((done + 1)); fi
            [ \"$(cat a)\" = \"count $done\" ]
        done
        touch ../stop; wait $other || true
        mount -o remount,rw ../work
        \"$emend\" edit a --old \"count $done\" --new end > /dev/null
        cat a; ls -A";
    if let Some(ran) = play(&workspace, script) {
        assert!(ran.exits(0).out.ends_with("end\na\n"));
    }
}

#[test]
fn another_user_changes_only_permitted_files() {
    let workspace = TestWorkspace::new();
    let script = "
        cp \"$emend\" /mnt/emend 2>/dev/null || { mount -t tmpfs none /mnt; cp \"$emend\" /mnt/emend; }
        mount -t tmpfs -o mode=755 none work; cd work
        mkdir open closed; chmod 777 open
        for name in open/theirs open/shared open/own closed/own closed/theirs; do echo one > $name; done
        chmod 666 open/shared; chown 1234:1234 open/own closed/own
        mkdir state; chown 1234 state
        as() { setpriv --reuid 1234 --regid 1234 --clear-groups env EMEND_STATE=$PWD/state HOME=$PWD/state /mnt/emend \"$@\"; }
        as edit open/own --old one --new two > /dev/null
        as edit open/shared --old one --new two > /dev/null
        as edit closed/own --old one --new two > /dev/null
        fails as edit open/theirs --old one --new two 2> said
        fails as edit closed/theirs --old one --new two 2>> said
        grep -c -F '[io.permission]' said
        cat open/theirs open/shared open/own closed/own closed/theirs
        stat -c '%u %a' open/theirs open/shared open/own closed/own closed/theirs; ls -A open closed";
    if let Some(ran) = play(&workspace, script) {
        let ran = ran.exits(0);
        let want = "2\none\ntwo\ntwo\ntwo\none\n0 644\n0 666\n1234 644\n1234 644\n0 644\nclosed:\nown\ntheirs\n\nopen:\nown\nshared\ntheirs\n";
        assert_eq!(ran.out, want);
    }
}

/// Only directories that tools can recreate are named for removal: never a file, which may be somebody's only copy.
#[test]
fn full_disk_names_no_files_for_removal() {
    let workspace = TestWorkspace::new();
    let script = "
        mount -t tmpfs -o size=2m,mode=755 none work
        mkdir work/src work/node_modules work/build work/target; cd work/src
        head -c 400000 /dev/zero > data.sqlite
        head -c 300000 /dev/zero > ../node_modules/x; head -c 100000 /dev/zero > ../build/source
        printf '/node_modules/\\n' > ../.gitignore
        head -c 50000 /dev/zero > ../target/o; echo 'Signature: 8a477f597d28d172789f06886806bc55' > ../target/CACHEDIR.TAG
        seq 1 60000 > g
        room=$(df --output=avail -B1 . | tail -1); head -c $((room - 65536)) /dev/zero > other
        fails \"$emend\" --root .. edit g --old 59999 --new 59999x 2> ../../said
        cat ../../said; grep -c 'node_modules (' ../../said; grep -c 'target (' ../../said
        ! grep -E 'sqlite|other|build' ../../said";
    if let Some(ran) = play(&workspace, script) {
        assert!(ran.exits(0).out.contains("[io.no_space]"));
    }
}

/// An edit that could not be logged is a gap in the history: an undo without an id does not take back an older one.
#[test]
fn undo_does_not_pass_over_an_edit_that_was_not_logged() {
    let workspace = TestWorkspace::new();
    let script = "
        mkdir -p state; mount -t tmpfs -o size=400k,mode=755 none state
        cd work; seq 1 100 > f; seq 1 100 > g
        \"$emend\" edit f --old 20 --new 20first > /dev/null
        cat /dev/zero > ../state/fill 2> /dev/null || true
        \"$emend\" edit g --old 50 --new 50second > ../said 2>&1; grep -F 'cannot be undone' ../said
        fails \"$emend\" undo > ../said 2>&1
        fails \"$emend\" doctor > ../said 2>&1; grep -F 'cannot be logged' ../said
        rm ../state/fill
        fails \"$emend\" undo 2> ../said; grep -F '[operation.uncertain]' ../said
        \"$emend\" edit g --old 60 --new 60third > /dev/null; \"$emend\" undo > /dev/null
        fails \"$emend\" undo 2> ../said; grep -F '[operation.uncertain]' ../said
        \"$emend\" history | grep -F 'operation 2 is missing'
        grep -c first f; grep -c second g; grep -c third g || true
        \"$emend\" undo 1 > /dev/null; grep -c first f || true";
    if let Some(ran) = play(&workspace, script) {
        assert!(ran.exits(0).out.ends_with("1\n1\n0\n0\n"));
    }
}

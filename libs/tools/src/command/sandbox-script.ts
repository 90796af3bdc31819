/**
 * What the first process inside new namespaces does: build a root of its own, enter it, and start the command without any right.
 *
 * Arguments: ROOT WORKSPACE NODE AS TMP_MIB [MOUNT_FROM MOUNT_AT]… -- COMMAND…
 *
 * S1. The new root holds the system's programs and libraries, read-only, Node, the workspace, and an empty temporary folder. Home folders, configuration,
 *     sockets, other processes and devices are not there.
 * S2. `/proc/sys` and the like are read-only, since root's number alone would open them.
 * S3. The old root is unmounted before the command starts; the command has no capability and can gain none.
 * S4. This shell stays as process 1 of the sandbox, with another identity than the command: when it dies, the kernel ends everything in the sandbox.
 * S5. `ready` on descriptor 3 says that the command is about to start. Without it the command never ran.
 */
export const SANDBOX_SCRIPT = String.raw`
set -eu
ROOT=$1 WORK=$2 NODE=$3 AS=$4 TMP_MIB=$5; shift 5
mount -t tmpfs -o mode=755,nosuid,nodev,size=1m tmpfs "$ROOT"
ro() {
  mount --rbind "$1" "$2"
  mount -o remount,bind,ro,nosuid "$2" 2>/dev/null || mount -o remount,bind,ro,nosuid,nodev "$2" 2>/dev/null || mount -o remount,bind,ro,nosuid,nodev,noatime "$2" 2>/dev/null || mount -o remount,bind,ro,nosuid,nodev,relatime "$2"
  while read -r _ at _; do
    case "$at" in "$2"/*) mount -o remount,bind,ro,nosuid "$at" 2>/dev/null || mount -o remount,bind,ro,nosuid,nodev "$at" || umount -l "$at" ;; esac
  done < /proc/self/mounts
}
for d in usr bin sbin lib lib32 lib64 libx32 opt; do
  if [ -L "/$d" ]; then ln -s "$(readlink "/$d")" "$ROOT/$d"
  elif [ -d "/$d" ]; then mkdir "$ROOT/$d"; ro "/$d" "$ROOT/$d"; fi
done
mkdir -p "$ROOT/etc" "$ROOT/n17q/bin" "$ROOT/proc" "$ROOT/dev" "$ROOT/tmp" "$ROOT/workspace" "$ROOT/.old"
for e in alternatives ld.so.cache ld.so.conf ld.so.conf.d; do
  if [ -d "/etc/$e" ]; then mkdir "$ROOT/etc/$e"; ro "/etc/$e" "$ROOT/etc/$e"
  elif [ -f "/etc/$e" ]; then : > "$ROOT/etc/$e"; ro "/etc/$e" "$ROOT/etc/$e"; fi
done
printf 'root:x:0:0::/tmp:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n' > "$ROOT/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' > "$ROOT/etc/group"
printf '127.0.0.1 localhost\n::1 localhost\n' > "$ROOT/etc/hosts"
: > "$ROOT/n17q/bin/node"; ro "$NODE" "$ROOT/n17q/bin/node"
for d in null zero full random urandom; do : > "$ROOT/dev/$d"; mount --bind "/dev/$d" "$ROOT/dev/$d"; done
ln -s /proc/self/fd "$ROOT/dev/fd"
mount -t tmpfs -o mode=1777,nosuid,nodev,size="$TMP_MIB"m tmpfs "$ROOT/tmp"
mount -t proc -o nosuid,nodev,noexec proc "$ROOT/proc"
for p in sys sysrq-trigger irq bus fs; do
  if [ -e "$ROOT/proc/$p" ]; then mount --bind "$ROOT/proc/$p" "$ROOT/proc/$p"; mount -o remount,bind,ro,nosuid,nodev,noexec "$ROOT/proc/$p"; fi
done
mount --bind "$WORK" "$ROOT/workspace"
mount -o remount,bind,nosuid,nodev "$ROOT/workspace"
while [ "$1" != -- ]; do
  mkdir -p "$ROOT$2"; ro "$1" "$ROOT$2"; shift 2
done
shift
mount -o remount,bind,ro,nosuid,nodev "$ROOT"
cd "$ROOT"; pivot_root . .old; cd /
umount -l /.old
cd /workspace
ip link set lo up 2>/dev/null || true
DROP='--no-new-privs --bounding-set=-all --inh-caps=-all --ambient-caps=-all'
if [ "$AS" = root ]; then DROP="$DROP --reuid 65534 --regid 65534 --clear-groups"; fi
ulimit -c 0
ulimit -f 2097152
printf ready >&3
exec 3>&-
set +e
prlimit --nproc=2048 -- setpriv $DROP -- "$@"
exit $?
`;

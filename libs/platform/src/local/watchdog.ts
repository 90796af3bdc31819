// For: servers and folders of a test must not outlive the test process, even when that is killed with SIGKILL.
// Not: an orderly shutdown. Who started a server stops it; this is the net below.
// 1. The watchdog is a separate process that holds the read end of a pipe whose only writer is us. When we die, for
//    whatever reason, the kernel closes the pipe and the watchdog ends what is still listed.
// 2. It touches only process ids that we told it and did not take back, and folders whose name starts with "n17q-".
// 3. It ends as soon as nothing is listed.

import { spawn, type ChildProcess } from 'node:child_process';
import { basename } from 'node:path';

// SIGQUIT first: a postmaster then ends its backends by itself, stopped ones after five seconds with SIGKILL; so it gets ten.
// SIGCONT, since a stopped process acts on nothing but SIGKILL.
export const WATCHDOG_SCRIPT = `
trap '' INT TERM HUP
pids=' ' dirs=''
while read -r verb what; do
  case $verb in
    +pid) pids="$pids$what " ;;
    -pid) rest=' '; for p in $pids; do [ "$p" = "$what" ] || rest="$rest$p "; done; pids=$rest ;;
    +dir) dirs="$dirs$what
" ;;
    -dir) rest=''; while read -r d; do [ -z "$d" ] || [ "$d" = "$what" ] || rest="$rest$d
"; done <<DIRS
$dirs
DIRS
    dirs=$rest ;;
  esac
done
for p in $pids; do kill -QUIT "$p"; kill -CONT "$p"; done 2>/dev/null
tries=0
while [ $tries -lt 100 ]; do
  left=''
  for p in $pids; do kill -0 "$p" 2>/dev/null && left=1; done
  [ -n "$left" ] || break
  sleep 0.1; tries=$((tries + 1))
done
for p in $pids; do kill -KILL "-$p" || kill -KILL "$p"; done 2>/dev/null
printf '%s' "$dirs" | while read -r d; do case $d in */n17q-*) rm -rf -- "$d" ;; esac; done
`;

let dog: ChildProcess | undefined;
const listed = new Set<string>();

/** Ends the process when this one dies. The process must lead its own group (`detached: true`). */
export function watchProcess(pid: number): void { add('pid', String(pid)); }
export function unwatchProcess(pid: number): void { remove('pid', String(pid)); }

/** Removes the folder when this process dies. Only folders named `n17q-…` are taken. */
export function watchDirectory(path: string): void {
  if (!basename(path).startsWith('n17q-') || /[\r\n]/.test(path)) throw new Error(`not a folder of ours to remove: ${path}`);
  add('dir', path);
}
export function unwatchDirectory(path: string): void { remove('dir', path); }

function add(kind: 'pid' | 'dir', what: string): void {
  listed.add(`${kind} ${what}`);
  dog ??= start();
  dog.stdin?.write(`+${kind} ${what}\n`);
}

function remove(kind: 'pid' | 'dir', what: string): void {
  if (!listed.delete(`${kind} ${what}`)) return;
  dog?.stdin?.write(`-${kind} ${what}\n`);
  if (listed.size > 0) return;
  dog?.stdin?.end();
  dog = undefined;
}

function start(): ChildProcess {
  const child = spawn('/bin/sh', ['-c', WATCHDOG_SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true, cwd: '/' });
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  child.stdin?.on('error', () => { dog = undefined; }); // somebody killed the watchdog: the next entry starts another
  return child;
}

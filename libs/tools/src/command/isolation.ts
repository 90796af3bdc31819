/**
 * How far this machine lets a command be contained, found by trying once.
 *
 * `namespaces`: own users or an unprivileged account, own network without any interface up, own processes, own mounts, everything but the workspace and a
 * temporary folder read-only. `none`: only time and output are bounded; a tool may then not claim to be *contained* (see `contractUnder`).
 *
 * Rows: EFF-4, SEC-4.
 */
import { execFile } from 'node:child_process';
import type { ContractKind } from '@n17q/domain';

export type Isolation =
  /** `as`: with root's rights at first, dropped before the command runs; or as an ordinary user, with a user namespace. */
  | { readonly isolation: 'namespaces'; readonly as: 'root' | 'user' }
  | { readonly isolation: 'none'; readonly why: string };

/** The rights that root drops to; owns nothing. */
export const UNPRIVILEGED_ID = 65534;
const PROBE_MS_MAX = 5_000;

export const unshareArgs = (as: 'root' | 'user'): string[] =>
  [...(as === 'user' ? ['--user', '--map-root-user'] : []), '--net', '--pid', '--mount', '--ipc', '--uts', '--fork', '--kill-child=SIGKILL'];

let probed: Promise<Isolation> | undefined;

/** Tries once per process; never rejects. */
export function probeIsolation(): Promise<Isolation> {
  probed ??= probe();
  return probed;
}

async function probe(): Promise<Isolation> {
  if (process.platform !== 'linux') return { isolation: 'none', why: `${process.platform} has no namespaces` };
  let why = '';
  for (const as of process.getuid?.() === 0 ? (['root', 'user'] as const) : (['user'] as const)) {
    const trouble = await tried([...unshareArgs(as), 'sh', '-c', 'd=$(mktemp -d) && mount -t tmpfs tmpfs "$d" && mkdir "$d/old" && mount --bind /usr "$d/old" && command -v setpriv pivot_root >/dev/null; s=$?; umount -l "$d"; rmdir "$d"; exit $s']);
    if (trouble === undefined) return { isolation: 'namespaces', as };
    why = trouble;
  }
  return { isolation: 'none', why };
}

function tried(args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile('unshare', args, { timeout: PROBE_MS_MAX, killSignal: 'SIGKILL', env: { PATH: SYSTEM_PATH } }, (error, _out, stderr) => resolve(error ? (stderr.trim() || error.message).slice(0, 300) : undefined));
  });
}

export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What a tool that declares `declared` really has on this machine: without isolation nothing is contained. */
export const contractUnder = (declared: ContractKind, isolation: Isolation): ContractKind => (declared === 'contained' && isolation.isolation === 'none' ? 'neither' : declared);

/** One sentence for people. */
export const isolationNotice = (i: Isolation): string =>
  i.isolation === 'namespaces' ? 'Commands run in a fresh sandbox without network.' : `Commands cannot be contained on this machine (${i.why}): they run with your rights, and are never repeated by the system.`;

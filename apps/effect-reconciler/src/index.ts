import { createHmac, randomUUID } from 'node:crypto';
import { FolderArtifactStore, keeping, type Register } from '@n17q/artifacts';
import { runStream } from '@n17q/domain';
import { optionalSetting, setting, startReactor, type ServiceStart, type Settings } from '@n17q/reactor';
import { receiptKey, receiptToken, validateArguments, type ReceiptFor, type ReceiptTo } from '@n17q/tools';
import { connectors } from './connectors.js';
import { reconciler } from './reconcile-run.js';

const artifactsIn = (s: Settings): FolderArtifactStore => new FolderArtifactStore(setting(s, 'N17Q_ARTIFACTS_DIR', 'the folder of the artifact store'));

/** Both settings or none: a capability without an address is of no use, and there is no default for its secret. */
function receiptsOf(s: Settings): { readonly receiptTo?: (effect: ReceiptFor) => ReceiptTo } {
  const [given, url] = [optionalSetting(s, 'N17Q_RECEIPT_KEY'), optionalSetting(s, 'N17Q_RECEIPT_URL')];
  if (given === undefined || url === undefined) return {};
  const key = receiptKey(given);
  if (!URL.canParse(url)) throw new Error('N17Q_RECEIPT_URL must be the URL at which tools reach POST /v1/receipts');
  return { receiptTo: (effect) => ({ url, token: receiptToken(key, effect) }) };
}

export const start: ServiceStart = (settings) => startReactor({
  service: 'effect-reconciler',
  outside: artifactsIn,
  build: async ({ log, store, logger }) => {
    const artifacts = artifactsIn(settings);
    const register: Register = async (tenant, r, ref) => { await store.registerArtifact(tenant, runStream(r), ref, 'complete'); };
    const scopeKey = setting(settings, 'N17Q_SCOPE_KEY', 'the secret under which scopes are compared');
    const { run } = reconciler({
      log, incarnation: randomUUID(), monotonicMs: () => performance.now(), validate: validateArguments,
      connector: await connectors(settings, artifacts), register, keep: keeping(artifacts, register),
      ...receiptsOf(settings),
      scopeSalt: (tenant) => createHmac('sha256', scopeKey).update(tenant).digest('hex'),
      onTrouble: (what, e) => logger.warn({ what, message: e instanceof Error ? e.message : String(e) }, 'in the background'),
    });
    return run;
  },
}, settings);

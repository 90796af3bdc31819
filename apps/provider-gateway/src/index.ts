import { randomUUID } from 'node:crypto';
import { FolderArtifactStore, keeping } from '@n17q/artifacts';
import { runStream } from '@n17q/domain';
import { credentialsFromFolder, geminiAdapter, type ProviderAdapter } from '@n17q/providers';
import { numberSetting, setting, startReactor, type ServiceStart, type Settings } from '@n17q/reactor';
import { gateway } from './generate-run.js';
import { sealingWith } from './sealing.js';

const artifactsIn = (s: Settings): FolderArtifactStore => new FolderArtifactStore(setting(s, 'N17Q_ARTIFACTS_DIR', 'the folder of the artifact store'));
const ADAPTERS: Readonly<Record<string, ProviderAdapter>> = { gemini: geminiAdapter() };

export const start: ServiceStart = (settings) => startReactor({
  service: 'provider-gateway',
  outside: artifactsIn,
  build: ({ log, store, logger }) => gateway({
    log, incarnation: randomUUID(), monotonicMs: () => performance.now(), adapter: (name) => ADAPTERS[name],
    credentials: credentialsFromFolder(setting(settings, 'N17Q_CREDENTIALS_DIR', 'the folder with one file per provider account')),
    sealing: sealingWith(Buffer.from(setting(settings, 'N17Q_CONTINUATION_KEY', 'the key of the protocol store, 64 hex digits'), 'hex')),
    keep: keeping(artifactsIn(settings), async (tenant, r, ref) => { await store.registerArtifact(tenant, runStream(r), ref, 'complete'); }),
    requestTimeoutMs: numberSetting(settings, 'N17Q_GENERATION_TIMEOUT_MS', 120_000, 100, 3_600_000),
    onTrouble: (what, e) => logger.warn({ what, message: e instanceof Error ? e.message : String(e) }, 'in the background'),
  }).run,
}, settings);

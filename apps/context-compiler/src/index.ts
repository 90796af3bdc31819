import { FolderArtifactStore, keeping } from '@n17q/artifacts';
import { runStream } from '@n17q/domain';
import { setting, startReactor, type ServiceStart, type Settings } from '@n17q/reactor';
import { compileRun } from './compile-run.js';

const artifactsIn = (s: Settings): FolderArtifactStore => new FolderArtifactStore(setting(s, 'N17Q_ARTIFACTS_DIR', 'the folder of the artifact store'));

export const start: ServiceStart = (settings) => startReactor({
  service: 'context-compiler',
  outside: artifactsIn,
  build: ({ log, store }) => compileRun(log, keeping(artifactsIn(settings), async (tenant, run, ref) => { await store.registerArtifact(tenant, runStream(run), ref, 'complete'); })),
}, settings);

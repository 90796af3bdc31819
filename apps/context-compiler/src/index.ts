import { FolderArtifactStore } from '@n17q/artifacts';
import { setting, startReactor, type ServiceStart } from '@n17q/reactor';
import { compileRun } from './compile-run.js';

export const start: ServiceStart = (settings) => startReactor({
  service: 'context-compiler',
  outside: (s) => new FolderArtifactStore(setting(s, 'N17Q_ARTIFACTS_DIR', 'the folder of the artifact store')),
  build: ({ log }) => compileRun(log),
}, settings);

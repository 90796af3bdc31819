import { FolderArtifactStore } from '@n17q/artifacts';
import { setting, startReactor, type ServiceStart } from '@n17q/reactor';
import { erasing } from './erase-artifacts.js';
import { sealRun } from './seal-run.js';

export const start: ServiceStart = (settings) => startReactor({
  service: 'checkpoint-sealer',
  build: ({ log, store }) => sealRun(log, erasing(store, new FolderArtifactStore(setting(settings, 'N17Q_ARTIFACTS_DIR', 'the folder of the artifact store')))),
}, settings);

import { runMain } from '@n17q/reactor';

await runMain('context-compiler', () => import('./index.js'));

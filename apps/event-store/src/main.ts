import { runMain } from '@n17q/reactor';

await runMain('event-store', () => import('./index.js'));

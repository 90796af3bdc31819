// Gives every project with a tsconfig.json the target `build`; what it does stands in nx.json under targetDefaults.
import { dirname } from 'node:path';

export const name = 'n17q-build';
export const createNodesV2 = [
  '{libs,apps}/*/tsconfig.json',
  (files) => files.map((file) => [file, { projects: { [dirname(file)]: { root: dirname(file), targets: { build: {} } } } }]),
];

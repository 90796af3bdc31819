// One thread of the fleet: takes a question, answers it, takes the next. Whatever is thrown is the answer to that question.
import { parentPort } from 'node:worker_threads';
import './from-source.mjs';

const { answer } = await import('./trial.ts');
const reply = (question) => answer(question).then(
  (a) => { parentPort.postMessage({ question, answer: a }); },
  (e) => { parentPort.postMessage({ question, trouble: e instanceof Error ? (e.stack ?? e.message) : String(e) }); },
);
parentPort.on('message', (question) => { void reply(question); });
parentPort.postMessage({ ready: true });

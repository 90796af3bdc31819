export {
  HistoryRecorder, type AppendCall, type AppendIntent, type AppendOperation, type HistoryOperation, type ReadCall, type ReadOperation, type SeenEvent, type SeenRow,
} from './history.js';
export { judgeHistory, type FinalRow, type JudgeOptions, type Judgement } from './judge.js';
export { CHECKS, type Violation } from './judged.js';

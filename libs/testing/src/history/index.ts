export {
  HistoryRecorder, type AppendCall, type AppendIntent, type AppendOperation, type HistoryOperation, type ReadCall, type ReadOperation, type SeenEvent, type SeenRow,
} from './history.js';
export { judgeHistory, type JudgeOptions, type Judgement } from './judge.js';
export { CHECKS, type FinalRow, type Violation } from './judged.js';

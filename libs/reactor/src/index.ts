export { runMain, type Running, type ServiceStart } from './main.js';
export { startReactor, type ReactorContext, type React, type ReactorSpec } from './reactor.js';
export { setting, busUser, optionalSetting, numberSetting, SettingMissing, type Settings } from './settings.js';
export { serviceLogger, type Log } from './log.js';

/** A service's settings: names and texts, from the environment or from the local stack. A secret has no default. */
export type Settings = Readonly<Record<string, string | undefined>>;

export class SettingMissing extends Error {
  constructor(readonly setting: string, what: string) { super(`${setting} is not set: ${what}`); this.name = 'SettingMissing'; }
}

export function setting(s: Settings, name: string, what: string): string {
  const v = s[name];
  if (v === undefined || v === '') throw new SettingMissing(name, what);
  return v;
}
export const optionalSetting = (s: Settings, name: string): string | undefined => (s[name] === '' ? undefined : s[name]);
/** A whole number within bounds, or the documented default. */
export function numberSetting(s: Settings, name: string, or: number, min: number, max: number): number {
  const v = optionalSetting(s, name);
  if (v === undefined) return or;
  const n = Number(v);
  if (!Number.isSafeInteger(n) || n < min || n > max) throw new RangeError(`${name} must be a whole number from ${min} to ${max}, not "${v}"`);
  return n;
}
/** Where a deployment gives several services one bus user: its name. Absent: the service's own. */
export const busUser = (s: Settings): { readonly user?: string } => { const user = optionalSetting(s, 'N17Q_NATS_USER'); return user === undefined ? {} : { user }; };

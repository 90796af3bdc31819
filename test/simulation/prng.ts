/** A small seeded generator (mulberry32). One seed, one sequence, on every machine. */
export class Prng {
  private a: number;
  constructor(readonly seed: number) { this.a = (seed ^ 0x9e3779b9) >>> 0; }
  /** From 0 up to, not including, 1. */
  next(): number {
    this.a = (this.a + 0x6d2b79f5) >>> 0;
    let t = this.a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }
  chance(p: number): boolean { return this.next() < p; }
  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number { return low + Math.floor(this.next() * (high - low + 1)); }
  pick<T>(items: readonly T[]): T { return items[Math.floor(this.next() * items.length)] as T; }
  /** One of the names, with its weight. */
  weighted<K extends string>(weights: { readonly [k in K]: number }): K {
    const names = Object.keys(weights) as K[];
    let left = this.next() * names.reduce((n, k) => n + weights[k], 0);
    for (const k of names) { left -= weights[k]; if (left < 0) return k; }
    return names.at(-1) as K;
  }
}

/** Small arithmetic on measurements. */
export const median = (xs) => { const s = [...xs].sort((a, b) => a - b); const m = s.length >> 1; return s.length === 0 ? Number.NaN : s.length % 2 === 1 ? s[m] : (s[m - 1] + s[m]) / 2; };
export const mean = (xs) => xs.reduce((n, x) => n + x, 0) / xs.length;
/** The value that the share `p` of the sample does not exceed. */
export const quantile = (xs, p) => { const s = [...xs].sort((a, b) => a - b); return s[Math.min(s.length - 1, Math.floor(s.length * p))]; };

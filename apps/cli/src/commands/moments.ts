/** Times as people read them: by the clock of UTC, and with the day where it is not today's. */
export function moment(iso: string, now = Date.now()): string {
  const day = iso.slice(0, 10);
  return `${day === new Date(now).toISOString().slice(0, 10) ? '' : `${day} `}${iso.slice(11, 19)}Z`;
}

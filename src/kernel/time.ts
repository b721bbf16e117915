/**
 * Timestamps and durations. Servers that share a database follow its clock and advance by monotonic time.
 * See docs/decisions/0145-one-clock-for-all-servers.md.
 */

export type Timestamp = string;

/** Added to monotonic time; undefined: the machine's clock. */
let offsetMs: number | undefined;

export function nowMs(): number {
  return offsetMs === undefined ? Date.now() : Math.floor(offsetMs + performance.now());
}

export function now(): Timestamp {
  return new Date(nowMs()).toISOString();
}

export interface ClockReading {
  readonly clockMs: number;
  readonly askedAt: number;
  readonly answeredAt: number;
}

/** Corrects no more than the reading proves; undefined returns to the machine's clock. */
export function followClock(reading: ClockReading | undefined): void {
  if (reading === undefined) {
    offsetMs = undefined;
    return;
  }
  const [least, most] = [reading.clockMs - reading.answeredAt, reading.clockMs - reading.askedAt];
  offsetMs = offsetMs === undefined ? (least + most) / 2 : Math.min(most, Math.max(least, offsetMs));
}

export function parseTimestamp(text: string): Timestamp | undefined {
  if (!/^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?([Zz]|[+-]\d{2}:?\d{2})$/.test(text)) return undefined;
  // `Date` would silently turn February 30 into March.
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split("-").map(Number);
  if (new Date(Date.UTC(year, month - 1, day)).getUTCDate() !== day) return undefined;
  const instant = new Date(text.replace(" ", "T"));
  if (Number.isNaN(instant.getTime())) return undefined;
  const utcYear = instant.getUTCFullYear();
  return utcYear >= 1970 && utcYear <= 9999 ? instant.toISOString() : undefined;
}

export const activityDurationPattern = /^(?!0+[dh])[0-9]{1,4}[dh]$/;

export const activityDurationSentence =
  "has an incorrect format, we expect up to 4 numeric digits and 1 unit ('d' or 'h')";

const hourMs = 3_600_000;

export function activityDurationMs(duration: string): number {
  const amount = Number(duration.slice(0, -1));
  return amount * (duration.endsWith("d") ? 24 * hourMs : hourMs);
}

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: hourMs, d: 24 * hourMs };

export function ageMs(text: string): number | undefined {
  const [, amount, unit = ""] = /^(0|[1-9][0-9]{0,4})([mhd])$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * (unitsMs[unit] ?? 0);
}

export const timeoutPattern = /^([0-9]+(\.[0-9]+)?(h|m|s))+$/;

export function timeoutSeconds(timeout: string): number {
  let seconds = 0;
  for (const [, amount, unit] of timeout.matchAll(/([0-9.]+)([hms])/g))
    seconds += Number(amount) * (unit === "h" ? 3600 : unit === "m" ? 60 : 1);
  return seconds;
}

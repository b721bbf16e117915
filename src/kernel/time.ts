/**
 * Instants as the register stores and shows them: ISO 8601, UTC, milliseconds. Where several servers share a register they have to agree
 * on what has ended, so they go by one clock, the database's (`database/clock.ts` asks it), and count on from there by time that only
 * ever passes: a machine whose clock is wrong, or jumps, tells the same time as the others. See
 * docs/decisions/0145-one-clock-for-all-servers.md. Also durations as people write them.
 */

export type Timestamp = string;

/** What is added to the time that passes in this process to get the register's; undefined for whoever goes by the machine's clock. */
let offsetMs: number | undefined;

/** Milliseconds since 1970. */
export function nowMs(): number {
  return offsetMs === undefined ? Date.now() : Math.floor(offsetMs + performance.now());
}

export function now(): Timestamp {
  return new Date(nowMs()).toISOString();
}

/** A clock elsewhere, as it was read: somewhere between two moments of `performance.now()`. */
export interface Reading {
  readonly clockMs: number;
  readonly askedAt: number;
  readonly answeredAt: number;
}

/** Goes by that clock from now on, and moves no further than the reading proves; by the machine's again without one. */
export function followClock(reading: Reading | undefined): void {
  if (reading === undefined) {
    offsetMs = undefined;
    return;
  }
  const [least, most] = [reading.clockMs - reading.answeredAt, reading.clockMs - reading.askedAt];
  offsetMs = offsetMs === undefined ? (least + most) / 2 : Math.min(most, Math.max(least, offsetMs));
}

/**
 * Reads an instant that a person or client wrote (RFC 3339: a date, a time and a zone), and gives it in the stored form;
 * `undefined` where it is not one.
 */
export function parseTimestamp(text: string): Timestamp | undefined {
  if (!/^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?([Zz]|[+-]\d{2}:?\d{2})$/.test(text)) return undefined;
  // A day that no month has would silently become one of the next.
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split("-").map(Number);
  if (new Date(Date.UTC(year, month - 1, day)).getUTCDate() !== day) return undefined;
  const instant = new Date(text.replace(" ", "T"));
  if (Number.isNaN(instant.getTime())) return undefined;
  const utcYear = instant.getUTCFullYear();
  return utcYear >= 1970 && utcYear <= 9999 ? instant.toISOString() : undefined;
}

/** Of inactivity, after which a workspace is destroyed: `14d`, `36h`. */
export const activityDurationPattern = /^(?!0+[dh])[0-9]{1,4}[dh]$/;

export const activityDurationSentence =
  "has an incorrect format, we expect up to 4 numeric digits and 1 unit ('d' or 'h')";

const hourMs = 3_600_000;

/** The length of a valid duration, in milliseconds. */
export function activityDurationMs(duration: string): number {
  const amount = Number(duration.slice(0, -1));
  return amount * (duration.endsWith("d") ? 24 * hourMs : hourMs);
}

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: hourMs, d: 24 * hourMs };

/** An age in milliseconds; undefined for what is none. */
export function ageMs(text: string): number | undefined {
  const [, amount, unit = ""] = /^(0|[1-9][0-9]{0,4})([mhd])$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * (unitsMs[unit] ?? 0);
}

export const timeoutPattern = /^([0-9]+(\.[0-9]+)?(h|m|s))+$/;

/** The length of a valid time-out, in seconds. */
export function timeoutSeconds(timeout: string): number {
  let seconds = 0;
  for (const [, amount, unit] of timeout.matchAll(/([0-9.]+)([hms])/g))
    seconds += Number(amount) * (unit === "h" ? 3600 : unit === "m" ? 60 : 1);
  return seconds;
}

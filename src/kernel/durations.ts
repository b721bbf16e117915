/**
 * Durations as people write them: of inactivity (`14d`, `36h`), after which a workspace is destroyed, ages (`30m`, `2h`, `1d`), and
 * time-outs (`1h30m`).
 */

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

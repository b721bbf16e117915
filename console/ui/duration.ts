/** Durations in seconds and their text. */
const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

const units = [
  ["day", day],
  ["hour", hour],
  ["minute", minute],
  ["second", 1],
] as const;

/** The largest two units: 5400 → "1 hour 30 minutes". */
export function durationText(seconds: number): string {
  const parts: string[] = [];
  let left = Math.max(0, Math.round(seconds));
  for (const [unit, size] of units) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(`${count} ${unit}${count === 1 ? "" : "s"}`);
  }
  return parts.slice(0, 2).join(" ") || "0 seconds";
}

export interface DurationChoice {
  readonly seconds: number;
  readonly label: string;
}

export const usualDurations: readonly DurationChoice[] = [0.5 * hour, hour, 4 * hour, 8 * hour, day, 7 * day].map(
  (seconds) => ({ seconds, label: seconds === 7 * day ? "1 week" : durationText(seconds) }),
);

/** Those up to the maximum, and the maximum itself. */
export const durationsUpTo = (max: number): readonly DurationChoice[] => [
  ...usualDurations.filter(({ seconds }) => seconds < max),
  usualDurations.find(({ seconds }) => seconds === max) ?? { seconds: max, label: durationText(max) },
];

/** Expiry values and their text. */
import { serverNow } from "../now.ts";

/** Seconds count from the time of sending; an instant is empty until chosen; null is never. */
export type Expiry = { readonly seconds: number } | { readonly at: string } | null;

export function expiryInstant(expiry: Expiry, now = serverNow()): string | null {
  if (expiry === null) return null;
  return "at" in expiry ? expiry.at : new Date(now + expiry.seconds * 1000).toISOString();
}

export function expiryFault(expiry: Expiry, now = serverNow()): string | undefined {
  if (expiry === null || !("at" in expiry)) return undefined;
  if (expiry.at === "") return "Choose a date and time.";
  return Date.parse(expiry.at) > now ? undefined : "This time has passed. Choose a time in the future.";
}

const minuteMs = 60_000;
const dayMs = 86_400_000;
const nearMs = 2 * dayMs;

const far = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const weekday = new Intl.DateTimeFormat("en-GB", { weekday: "long" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

const many = (count: number, one: string) => `${count} ${one}${count === 1 ? "" : "s"}`;

function spanText(ms: number): string {
  const minutes = Math.round(ms / minuteMs);
  if (minutes < 1) return "less than a minute";
  if (minutes < 60) return many(minutes, "minute");
  return ms < nearMs ? many(Math.round(minutes / 60), "hour") : many(Math.round(ms / dayMs), "day");
}

export function dayText(time: string, now: number): string {
  const date = new Date(time);
  const midnight = (of: Date) => new Date(of.getFullYear(), of.getMonth(), of.getDate()).getTime();
  // Days with a clock change are an hour longer or shorter.
  const days = Math.round((midnight(date) - midnight(new Date(now))) / dayMs);
  if (days < 0 || days > 6) return `${far.format(date)}, ${clock.format(date)}`;
  return `${["today", "tomorrow"][days] ?? weekday.format(date)} ${clock.format(date)}`;
}

/** "in 5 hours, today 19:00"; from two days on "31 Dec 2026"; "2 hours ago" if it has passed. */
export function endText(time: string, now: number): string {
  const left = Date.parse(time) - now;
  if (left <= 0) return `${spanText(-left)} ago`;
  return left < nearMs ? `in ${spanText(left)}, ${dayText(time, now)}` : far.format(new Date(time));
}

export const expiryText = (time: string, now: number): string =>
  `${Date.parse(time) > now ? "expires" : "expired"} ${endText(time, now)}`;

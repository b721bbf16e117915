/** When something ends: the day while that is far away, the hour and the time that is left once it is near. */
import { useNow } from "./now.ts";
import { counted, Dimmed } from "./text.tsx";

const minuteMs = 60_000;
const dayMs = 86_400_000;
const nearMs = 2 * dayMs;

const far = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const weekday = new Intl.DateTimeFormat("en-GB", { weekday: "long" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

/** "34 minutes", "5 hours", "3 days". */
function spanText(ms: number): string {
  const minutes = Math.round(ms / minuteMs);
  if (minutes < 1) return "less than a minute";
  if (minutes < 60) return counted(minutes, "minute");
  return ms < nearMs ? counted(Math.round(minutes / 60), "hour") : counted(Math.round(ms / dayMs), "day");
}

/** "today 19:00", "tomorrow 08:30", "Friday 08:30", or a day that is further away. */
export function dayText(time: string, now: number): string {
  const date = new Date(time);
  const midnight = (of: Date) => new Date(of.getFullYear(), of.getMonth(), of.getDate()).getTime();
  // Days with a change of the clock are an hour longer or shorter.
  const days = Math.round((midnight(date) - midnight(new Date(now))) / dayMs);
  if (days < 0 || days > 6) return `${far.format(date)}, ${clock.format(date)}`;
  return `${["today", "tomorrow"][days] ?? weekday.format(date)} ${clock.format(date)}`;
}

/** "in 5 hours, today 19:00"; from two days on "31 Dec 2026"; "2 hours ago" of what has ended. */
export function endText(time: string, now: number): string {
  const left = Date.parse(time) - now;
  if (left <= 0) return `${spanText(-left)} ago`;
  return left < nearMs ? `in ${spanText(left)}, ${dayText(time, now)}` : far.format(new Date(time));
}

/** The same in a sentence: "expires in 5 hours, today 19:00", "expired 2 hours ago". */
export const expiryText = (time: string, now: number): string =>
  `${Date.parse(time) > now ? "expires" : "expired"} ${endText(time, now)}`;

interface ExpiresProps {
  readonly time: string | null | undefined;
  /** With its verb, in a sentence. */
  readonly isSentence?: boolean;
}

/** An end, with the exact moment on hover; "never" without one. */
export function Expires({ time, isSentence = false }: ExpiresProps) {
  const now = useNow();
  if (!time) return <Dimmed>{isSentence ? "never expires" : "never"}</Dimmed>;
  return (
    <time dateTime={time} title={exact.format(new Date(time))}>
      {isSentence || Date.parse(time) <= now ? expiryText(time, now) : endText(time, now)}
    </time>
  );
}

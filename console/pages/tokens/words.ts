/** How tokens are spoken of, and which of them want a look first. */
import type { Resource } from "../../api/client.ts";

export type Token = Resource<"authentication-tokens">;

const dayMs = 86_400_000;
const soonDays = 14;
const unusedDays = 90;

export type Concern = "expired" | "expiring" | "unused" | "none";

/** Whether somebody should look at it: it ends soon, or nobody has used it for a long time. */
export function concernOf({ attributes }: Token, now: number): Concern {
  const { "expired-at": ends, "last-used-at": used, "created-at": made } = attributes;
  if (ends !== null && Date.parse(ends) <= now) return "expired";
  if (ends !== null && Date.parse(ends) - now < soonDays * dayMs) return "expiring";
  if (now - Date.parse(used ?? made) > unusedDays * dayMs) return "unused";
  return "none";
}

const order: readonly Concern[] = ["expiring", "unused", "expired", "none"];

/** What ends soon first, then what nobody uses, then the rest by their end. */
export function byConcern(now: number): (one: Token, other: Token) => number {
  const endOf = ({ attributes }: Token) => attributes["expired-at"] ?? "9999";
  return (one, other) =>
    order.indexOf(concernOf(one, now)) - order.indexOf(concernOf(other, now)) ||
    endOf(one).localeCompare(endOf(other)) ||
    one.id.localeCompare(other.id);
}

export const lifetimes = [
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "a year" },
  { value: "", label: "until another moment" },
  { value: "never", label: "never" },
];

/** Which tokens need attention, and their order. */
import type { Resource } from "../../api/client.ts";

export type Token = Resource<"authentication-tokens">;

const dayMs = 86_400_000;
export const soonDays = 14;
export const unusedDays = 90;

export type Concern = "expired" | "expiring" | "unused" | "none";

/** Whether it needs attention: it expires soon, or has not been used for a long time. */
export function concernOf({ attributes }: Token, now: number): Concern {
  const { "expired-at": ends } = attributes;
  if (ends !== null && Date.parse(ends) <= now) return "expired";
  if (ends !== null && Date.parse(ends) - now < soonDays * dayMs) return "expiring";
  return isUnused({ attributes }, now) ? "unused" : "none";
}

const isUnused = ({ attributes }: Pick<Token, "attributes">, now: number): boolean =>
  now - Date.parse(attributes["last-used-at"] ?? attributes["created-at"]) > unusedDays * dayMs;

/** How many need attention, for the line above the table. */
export function countTokens(tokens: readonly Token[], now: number) {
  const working = tokens.filter((token) => concernOf(token, now) !== "expired");
  return {
    expiring: working.filter((token) => concernOf(token, now) === "expiring").length,
    neverUsed: working.filter(({ attributes }) => attributes["last-used-at"] === null).length,
    unused: working.filter((token) => token.attributes["last-used-at"] !== null && isUnused(token, now)).length,
  };
}

const order: readonly Concern[] = ["expiring", "unused", "expired", "none"];

/** What expires soon first, then what is unused, then the rest by expiry. */
export function byConcern(now: number): (one: Token, other: Token) => number {
  const endOf = ({ attributes }: Token) => attributes["expired-at"] ?? "9999";
  return (one, other) =>
    order.indexOf(concernOf(one, now)) - order.indexOf(concernOf(other, now)) ||
    endOf(one).localeCompare(endOf(other)) ||
    one.id.localeCompare(other.id);
}

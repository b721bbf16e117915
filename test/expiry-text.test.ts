/** How the console shows an expiry, and the expiries that it sends. */
import { describe, expect, it } from "vitest";
import { dayText, endText, expiryFault, expiryText, expiryInstant } from "../console/ui/expiry.ts";

const now = new Date(2026, 10, 17, 14, 0).getTime();
const minutes = (count: number) => new Date(now + count * 60_000).toISOString();

describe("an expiry", () => {
  it.each([
    [0.2, "in less than a minute, today 14:00"],
    [34, "in 34 minutes, today 14:34"],
    [59.9, "in 1 hour, today 14:59"],
    [300, "in 5 hours, today 19:00"],
    [24 * 60, "in 24 hours, tomorrow 14:00"],
    [47 * 60, "in 47 hours, Thursday 13:00"],
    [48 * 60, "19 Nov 2026"],
    [-120, "2 hours ago"],
  ])("%d minutes from now: %s", (count, text) => {
    expect(endText(minutes(count), now)).toBe(text);
  });

  it("has a verb in a sentence, and a time on every day", () => {
    expect(expiryText(minutes(300), now)).toBe("expires in 5 hours, today 19:00");
    expect(expiryText(minutes(-300), now)).toBe("expired 5 hours ago");
    expect(dayText(minutes(30 * 24 * 60), now)).toBe("17 Dec 2026, 14:00");
  });

  it("is relative to the time of sending, and invalid once it has passed", () => {
    expect(expiryInstant({ seconds: 3600 }, now)).toBe(minutes(60));
    expect(expiryInstant({ at: minutes(5) }, now)).toBe(minutes(5));
    expect(expiryInstant(null, now)).toBeNull();
    expect([null, { seconds: 60 }, { at: minutes(1) }].map((each) => expiryFault(each, now))).toEqual(
      Array(3).fill(undefined),
    );
    expect(expiryFault({ at: minutes(0) }, now)).toContain("This time has passed");
    expect(expiryFault({ at: "" }, now)).toBe("Choose a date and time.");
  });
});

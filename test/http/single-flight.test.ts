/** Identical reads share one that begins after all of them were requested. */
import { describe, expect, it } from "vitest";
import { SingleFlight } from "../../src/http/single-flight.ts";

/** Reads that end when the test says so. */
function heldReads() {
  const begun: PromiseWithResolvers<string>[] = [];
  const read = () => {
    const held = Promise.withResolvers<string>();
    begun.push(held);
    return held.promise;
  };
  const hasBegun = (count: number) => expect.poll(() => begun.length).toBe(count);
  return { begun, read, hasBegun };
}

describe("identical reads", () => {
  it("share one read if they are requested before it begins", async () => {
    const flights = new SingleFlight<string>();
    const { begun, read, hasBegun } = heldReads();
    const results = [flights.run("a", read), flights.run("a", read), flights.run("a", read)];
    await hasBegun(1);
    begun[0]?.resolve("one");
    expect(await Promise.all(results)).toEqual(["one", "one", "one"]);
    expect(begun).toHaveLength(1);
  });

  it("read again if a read has already begun: its result may be from before the request", async () => {
    const flights = new SingleFlight<string>();
    const { begun, read, hasBegun } = heldReads();
    const first = flights.run("a", read);
    await hasBegun(1);
    const late = [flights.run("a", read), flights.run("a", read)];
    await hasBegun(2);
    begun[0]?.resolve("old");
    begun[1]?.resolve("new");
    expect(await first).toBe("old");
    expect(await Promise.all(late)).toEqual(["new", "new"]);
  });

  it("of different keys are separate", async () => {
    const flights = new SingleFlight<string>();
    const results = ["a", "b"].map((key) => flights.run(key, async () => key));
    expect(await Promise.all(results)).toEqual(["a", "b"]);
  });

  it("read for themselves if the shared read fails", async () => {
    const flights = new SingleFlight<string>();
    const leader = flights.run("a", () => Promise.reject(new Error("only the first")));
    const follower = flights.run("a", async () => "own");
    await expect(leader).rejects.toThrow("only the first");
    expect(await follower).toBe("own");
  });

  it("read for themselves if the shared read hangs", async () => {
    const flights = new SingleFlight<string>(20);
    void flights.run("a", () => new Promise<string>(() => {}));
    const followers = [flights.run("a", async () => "own"), flights.run("a", async () => "own")];
    expect(await Promise.all(followers)).toEqual(["own", "own"]);
  });
});

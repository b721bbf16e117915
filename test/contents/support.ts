/** A server whose contents are in an object store behind a proxy that can fail. */
import { afterAll, afterEach, beforeAll } from "vitest";
import { contentJobs } from "../../src/jobs/index.ts";
import { type Api, startApiOn, addFirstAdmin } from "../support/api.ts";
import { newPlace } from "../support/content-places.ts";
import { newDatabase } from "../support/database.ts";
import { FaultProxy, type ObjectServer, startObjectServer } from "../support/object-store.ts";
import { jobContextOf } from "../support/states.ts";

export interface StoreStage {
  readonly api: Api;
  readonly store: ObjectServer;
  readonly proxy: FaultProxy;
  /** One run of the job `contents`. */
  runJob(): Promise<number>;
  unattached(): Promise<{ name: string; status: string }[]>;
}

export function useStore({ keepDays = 7 }: { readonly keepDays?: number } = {}): StoreStage {
  let [api, store, proxy]: [Api?, ObjectServer?, FaultProxy?] = [];
  beforeAll(async () => {
    store = await startObjectServer();
    proxy = await FaultProxy.start(store.port);
    const database = await newDatabase();
    await addFirstAdmin(database.database);
    const contentPlace = await newPlace(store.address("register", proxy.port), database.database, keepDays);
    api = await startApiOn(database, { options: { contentPlace } });
  });
  afterEach(() => proxy?.heal());
  afterAll(async () => {
    await api?.stop();
    await proxy?.stop();
    await store?.stop();
  });
  const required = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("only available inside tests");
    return value;
  };
  return {
    get api() {
      return new Proxy({} as Api, { get: (_, name) => required(api)[name as keyof Api] });
    },
    get store() {
      return required(store);
    },
    get proxy() {
      return required(proxy);
    },
    async runJob() {
      const [job] = contentJobs(required(api).contentPlace);
      return required(job).run(jobContextOf(required(api)));
    },
    unattached: () =>
      required(api).database.reader.db.selectFrom("unattachedObjects").select(["name", "status"]).execute(),
  };
}

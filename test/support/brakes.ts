/** A server on which guessing is slowed down soon: after three failures of an address. */
import { type Api, useApi } from "./api.ts";

export const countedBrakes = (): Api => useApi({ failures: { burst: 3, perSecond: 0.001 } });

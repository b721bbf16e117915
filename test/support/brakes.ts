/** A server that slows down an address after three failures. */
import { type Api, useApi } from "./api.ts";

export const countedBrakes = (): Api => useApi({ failures: { burst: 3, perSecond: 0.001 } });

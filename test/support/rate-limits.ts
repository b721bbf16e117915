/** A server that limits an address after three failed authentications. */
import { type Api, useApi } from "./api.ts";

export const useApiWithFailureLimit = (): Api => useApi({ failures: { burst: 3, perSecond: 0.001 } });

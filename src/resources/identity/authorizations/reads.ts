/** What the endpoint asks that programs send browsers to. */
export { type Asked, askedFaults, type AskedFault, askedNames, loginClient } from "./request.ts";

/** What is done for whoever is nobody yet, and shows who it is. */
export { exchangeIdentity } from "./exchange.ts";

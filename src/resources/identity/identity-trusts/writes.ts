/** What is done for whoever is nobody yet, and shows who it is. */
export { exchangeIdentity, ExchangeFault } from "./exchange.ts";

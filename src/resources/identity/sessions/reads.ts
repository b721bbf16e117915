/** What neighbours ask of passwords. */
export { findPassword as loadPassword } from "./store.ts";
